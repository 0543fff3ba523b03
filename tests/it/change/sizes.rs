//! Sizes that users decide within the bounds of the manifest.

use crate::support::provider::{Provider, VM};
use crate::support::shoots::Manifest;
use crate::support::vm_watcher::{Bounds, Watcher};
use serde_json::json;

const NAME: &str = "sized";

#[test]
fn a_decided_size_outlives_applies_and_stays_within_the_bounds() {
    let provider = Provider::new();
    let manifest = Manifest::small(NAME).pool(|it| it["maximum"] = json!(2));
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);

    let watcher = Watcher::start(&provider, "worker");
    let grown = kvshoot.run(&format!("scale {NAME} worker=2"));
    let done = format!("shoot.core.gardener.cloud/{NAME} scaled\n");
    assert_eq!((grown.code, &grown.out), (0, &done), "{grown}");
    assert_eq!(provider.zones("worker"), [2]);
    provider.assert_unchanged(&manifest);
    let plan = kvshoot.run("plan -f shoot.yaml");
    let note = "Note: pool worker keeps its size of 2; the manifest allows 1 to 2\n";
    assert!(plan.out.starts_with(note), "{plan}");
    let status = kvshoot.run(&format!("status {NAME}"));
    let size = "size             pool worker: 2 (1 to 2); not scaled: no kvshoot keep runs\n";
    assert!(status.out.contains(size), "{status}");
    let pools = kvshoot.run(&format!("pools list {NAME}"));
    let row = pools.out.lines().last().unwrap_or_default();
    let numbers: Vec<&str> = row.split_whitespace().rev().take(5).collect();
    assert_eq!(numbers, ["2", "2", "2", "2", "1"], "{pools}");

    let before = provider.settled_contents();
    let refused = kvshoot.run(&format!("scale {NAME} worker=3"));
    assert_eq!(refused.code, 4, "{refused}");
    let reason = "pool \"worker\" cannot have 3 machines: the manifest allows 1 to 2";
    assert!(refused.err.contains(reason), "{refused}");
    assert_eq!(provider.settled_contents(), before);

    let shrunk = kvshoot.run(&format!("scale {NAME} worker=1"));
    assert_eq!((shrunk.code, &shrunk.out), (0, &done), "{shrunk}");
    assert_eq!(provider.zones("worker"), [1]);
    provider.assert_unchanged(&manifest);
    let bounds = Bounds {
        max_total: 2,
        min_ready: 1,
    };
    watcher.assert_within("scale", bounds);
}

#[test]
fn the_machine_of_a_deleted_node_goes_and_its_zone_keeps_less() {
    let provider = Provider::new();
    let manifest = Manifest::small("chosen").pool(|it| {
        it["maximum"] = json!(3);
        it["zones"] = json!(["zone-a", "zone-b"]);
    });
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let grown = kvshoot.run("scale chosen worker=3");
    assert_eq!(grown.code, 0, "{grown}");
    assert_eq!(provider.zones("worker"), [2, 1]);
    let machines = provider.names(VM);
    let mut first = machines.iter().filter(|it| it.contains("-z1-"));
    let mut second = machines.iter().filter(|it| it.contains("-z2-"));

    // Two machines would be spread over both zones.
    let gone = second.next().unwrap();
    let deleted = kvshoot.run(&format!("nodes delete chosen {gone}"));
    let done = format!("node/{gone} deleted\n");
    assert_eq!((deleted.code, &deleted.out), (0, &done), "{deleted}");
    let rest: Vec<&String> = machines.iter().filter(|it| *it != gone).collect();
    assert_eq!(provider.names(VM).iter().collect::<Vec<_>>(), rest);
    provider.assert_unchanged(&manifest);
    let again = kvshoot.run(&format!("nodes delete chosen {gone}"));
    assert_eq!(again.code, 7, "{again}");

    let oldest = first.next().unwrap();
    let deleted = kvshoot.run(&format!("nodes delete chosen {oldest}"));
    assert_eq!(deleted.code, 0, "{deleted}");
    let last = first.next().unwrap();
    assert_eq!(provider.names(VM), [last.as_str()]);
    let before = provider.settled_contents();
    let refused = kvshoot.run(&format!("nodes delete chosen {last}"));
    assert_eq!(refused.code, 4, "{refused}");
    let reason = "pool \"worker\" cannot have 0 machines: the manifest allows 1 to 3";
    assert!(refused.err.contains(reason), "{refused}");
    assert_eq!(provider.settled_contents(), before);

    let spread = kvshoot.run("scale chosen worker=2");
    assert_eq!(spread.code, 0, "{spread}");
    assert_eq!(provider.zones("worker"), [1, 1]);
    provider.assert_unchanged(&manifest);
}
