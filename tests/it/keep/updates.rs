//! Updates of Kubernetes in maintenance windows.

use crate::support::provider::Provider;
use crate::support::shoots::{Manifest, PATIENCE};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const NAME: &str = "updated";
const OLD: &str = "1.34.1";
const NEW: &str = "1.34.2";

/// A window of three hours that begins in so many hours.
fn manifest(begin: i64) -> Manifest {
    let bound = |hours| {
        let time = Timestamp::now() + SignedDuration::from_hours(hours);
        time.strftime("%H%M%S+0000").to_string()
    };
    Manifest::small(NAME).with(|it| {
        let spec = &mut it.shoot["spec"];
        spec["kubernetes"]["version"] = json!(OLD);
        spec["maintenance"] = json!({
            "timeWindow": {"begin": bound(begin), "end": bound(begin + 3)},
            "autoUpdate": {"kubernetesVersion": true},
        });
        it.profile["spec"]["kubernetes"]["versions"] = json!([{"version": NEW}, {"version": OLD}]);
    })
}

#[test]
#[ignore = "second tier: a control plane and a pool are replaced; unit tests hold windows, versions and older manifests"]
fn keep_installs_a_patch_in_its_window_and_an_older_manifest_does_not_undo_it() {
    let provider = Provider::new();
    provider.assert_applied(&manifest(12), "created");
    let mut keep = provider.kvshoot().start(&format!("keep {NAME}"));
    keep.wait_for("keeping 1 shoot", PATIENCE);
    let status = provider.kvshoot().run(&format!("status {NAME}"));
    assert!(status.out.contains("  maintenance      from "), "{status}");
    assert!(
        status
            .out
            .contains(&format!("Z: Kubernetes {OLD} to {NEW}\n")),
        "{status}"
    );
    let open = manifest(-1);
    provider.assert_applied(&open, "configured");

    let updated = format!("shoot.core.gardener.cloud/{NAME} updated\n");
    provider.wait_for("the update", |_| keep.stdout().contains(&updated));
    let kvshoot = provider.kvshoot_with(&open);
    let list = kvshoot.run(&format!("upgrade {NAME} --list -o json"));
    let versions: Value = serde_json::from_str(&list.out).unwrap();
    for component in versions["components"].as_array().unwrap() {
        assert_eq!(component["version"], NEW, "{list}");
    }
    let pool = &versions["components"][1]["nodes"];
    assert_eq!(*pool, json!({"withVersion": 1, "total": 1}), "{list}");

    let older = kvshoot.run("apply -f shoot.yaml");
    let unchanged = format!("shoot.core.gardener.cloud/{NAME} unchanged\n");
    assert_eq!((older.code, &older.out), (0, &unchanged), "{older}");
    let kept = format!("the cluster keeps {NEW}, to which it was updated");
    assert!(older.err.contains(&kept), "{older}");
}
