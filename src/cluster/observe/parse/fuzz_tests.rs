//! Random mutations of what API servers answer.

use super::object::parse;
use crate::cluster::client::resources::{ResourceScope, SHOOT_KINDS};
use crate::cluster::event::KubernetesEvent;
use crate::cluster::observe::cache::Cache;
use crate::cluster::testing::{ID, observation};
use crate::fuzz::fuzz;
use crate::state::key::{ClusterSide, ObjectKind};
use serde_json::{Value, json};
use std::time::Duration;

const PROVIDER_KINDS: [ObjectKind; 8] = [
    ObjectKind::Record,
    ObjectKind::Machine,
    ObjectKind::VirtualMachineInstance,
    ObjectKind::ImageVolume,
    ObjectKind::StatefulSet,
    ObjectKind::Deployment,
    ObjectKind::Service,
    ObjectKind::Secret,
];

fn scopes() -> Vec<ResourceScope> {
    let provider = PROVIDER_KINDS.map(|it| (ClusterSide::Provider, it));
    let shoot = SHOOT_KINDS.map(|it| (ClusterSide::Shoot, it));
    [&provider[..], &shoot].concat()
}

/// One recorded object of each resource, as text.
fn objects() -> Vec<String> {
    let observation = observation();
    let sides = ["provider", "shoot"].map(|it| observation[it].as_object().cloned());
    let lists = sides.into_iter().flatten().flatten();
    let first = lists.filter_map(|(_, items)| items.get(0).map(Value::to_string));
    first.collect()
}

/// Each object is read as each kind, by a cache that derives facts from it.
#[test]
fn no_object_causes_a_panic_or_a_hang() {
    let objects = objects();
    let seeds: Vec<&[u8]> = objects.iter().map(String::as_bytes).collect();
    let scopes = scopes();
    fuzz(&seeds, |text, round| {
        let Ok(object) = serde_json::from_slice::<Value>(text) else {
            return;
        };
        let scope = scopes[usize::try_from(round).expect("few") % scopes.len()];
        let _ = parse(scope, &object);
        let mut cache = Cache::new(ID);
        if cache.put(scope, &object, Duration::ZERO, None).is_ok() {
            let _ = cache.facts(Duration::from_secs(1));
            let _ = cache.remove(scope, &object);
        }
    });
}

#[test]
fn no_event_causes_a_panic_or_a_hang() {
    let event = json!({
        "kind": "Event", "apiVersion": "v1", "type": "Warning", "reason": "FailedCreate", "count": 3,
        "metadata": { "name": "a.1", "uid": "1", "creationTimestamp": "2026-01-02T03:04:05Z" },
        "involvedObject": { "kind": "Pod", "name": "a", "namespace": "b", "uid": "2" },
        "message": "exceeded quota: few, requested: cpu=1, used: cpu=2, limited: cpu=2",
        "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:06Z",
        "eventTime": "2026-01-02T03:04:05.123456Z", "reportingComponent": "a", "source": { "component": "b" },
        "series": { "count": 4, "lastObservedTime": "2026-01-02T03:04:07.123456Z" },
    });
    fuzz(&[event.to_string().as_bytes()], |text, _| {
        if let Ok(event) = serde_json::from_slice::<Value>(text) {
            let _ = KubernetesEvent::parse(ClusterSide::Provider, &event);
        }
    });
}
