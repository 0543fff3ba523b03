//! Events of a shoot's objects, in the provider cluster and in the shoot.

use crate::support::provider::{Provider, Resource};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const EVENT: Resource = Resource("", "v1", "Event");

/// Before any shoot of the tests was created.
const LONG_AGO: &str = "2020-01-01T00:00:00Z";

/// `time` is when it was reported last.
fn create_event(provider: &Provider, about: &str, message: &str, time: &str) {
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "generateName": "test-" },
        "involvedObject": {
            "kind": "VirtualMachine", "name": about, "namespace": provider.namespace,
        },
        "type": "Warning", "reason": "Reported", "message": message, "count": 1,
        "lastTimestamp": time,
    });
    provider.create(EVENT, event);
}

/// Events of the shoot `demo`, in both clusters.
pub(super) fn are_listed_and_watched(provider: &Provider, shoot: &Manifest) {
    let kvshoot = provider.kvshoot();
    let shown = kvshoot.run("events demo -o json");
    assert_eq!(shown.code, 0, "{shown}");
    let list: Value = serde_json::from_str(&shown.out).unwrap();
    let all = list["items"].as_array().unwrap();
    let has = |side: &str, object: &str| {
        let is_about = |it: &Value| it["object"].as_str().unwrap().starts_with(object);
        all.iter().any(|it| it["side"] == side && is_about(it))
    };
    assert!(
        has("provider", "virtualmachine/shoot--local--demo-"),
        "{shown}"
    );
    assert!(has("shoot", "node/shoot--local--demo-"), "{shown}");
    let times = |it: &Value| it["lastSeen"].as_str().unwrap().to_owned();
    assert!(all.iter().map(times).is_sorted(), "{shown}");

    let now = jiff::Timestamp::now();
    let now = format!("{now:.0}");
    let vm = format!("{}-x", shoot.id());
    create_event(provider, &vm, "of an earlier shoot", LONG_AGO);
    let mut watch = kvshoot.start("events demo --watch --types Warning");
    let other = "shoot--local--demoless-x";
    create_event(provider, other, "of another shoot", &now);
    create_event(provider, &vm, "of ours,\nin two lines", &now);
    let wanted = format!("Warning  Reported  virtualmachine/{vm}: of ours,\\nin two lines\n");
    let end = Instant::now() + Duration::from_secs(60);
    while !watch.stdout().contains(&wanted) {
        assert!(Instant::now() < end, "{}", watch.stdout());
        std::thread::sleep(Duration::from_millis(10));
    }
    watch.interrupt();
    let watch = watch.wait_at_most(Duration::from_secs(60));
    assert_eq!(watch.code, 130, "{watch}");
    assert!(!watch.out.contains("of another shoot"), "{watch}");
    assert!(!watch.out.contains("of an earlier shoot"), "{watch}");
    let existing = watch.out.lines().take_while(|it| !it.contains("of ours"));
    let times = existing.filter_map(|it| it.get(..20));
    assert!(times.is_sorted(), "{watch}");
    assert!(!watch.out.contains("Normal"), "{watch}");
    assert_eq!(kvshoot.run("events none").code, 7);
}
