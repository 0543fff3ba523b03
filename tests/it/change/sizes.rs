//! Sizes that users decide within the bounds of the manifest.

use crate::support::provider::Provider;
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
    let size = "size             pool worker: 2 (1 to 2)\n";
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
