//! Updates of Kubernetes and of images in maintenance windows.

use crate::support::provider::{Provider, VM};
use crate::support::shoots::{Manifest, PATIENCE};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const NAME: &str = "updated";
const OLD: &str = "1.34.1";
const NEW: &str = "1.34.2";
const OLD_IMAGE: &str = "22.04";
const NEW_IMAGE: &str = "24.04";

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
            "autoUpdate": {"kubernetesVersion": true, "machineImageVersion": true},
            "confineSpecUpdateRollout": true,
        });
        spec["provider"]["workers"][0]["machine"]["image"]["version"] = json!(OLD_IMAGE);
        it.profile["spec"]["kubernetes"]["versions"] = json!([{"version": NEW}, {"version": OLD}]);
    })
}

#[test]
#[ignore = "second tier: a control plane and a pool are replaced; unit tests hold windows, versions and older manifests"]
fn keep_installs_a_patch_and_an_image_in_their_window_and_an_older_manifest_does_not_undo_it() {
    let provider = Provider::new();
    provider.assert_applied(&manifest(12), "created");
    let mut keep = provider.kvshoot().start(&format!("keep {NAME}"));
    keep.wait_for("keeping 1 shoot", PATIENCE);
    let status = provider.kvshoot().run(&format!("status {NAME}"));
    assert!(status.out.contains("  maintenance      from "), "{status}");
    let pool = manifest(12).shoot["spec"]["provider"]["workers"][0]["name"].clone();
    let pool = pool.as_str().unwrap();
    let image = format!("image ubuntu of pool {pool} from {OLD_IMAGE} to {NEW_IMAGE}");
    assert!(
        status
            .out
            .contains(&format!("Z: Kubernetes {OLD} to {NEW}, {image}\n")),
        "{status}"
    );
    let change = manifest(12).pool(|it| it["maximum"] = json!(2));
    let refused = provider.kvshoot_with(&change).run("apply -f shoot.yaml");
    let why = format!("changes of shoot {NAME} wait for its maintenance window");
    assert_eq!(refused.code, 4, "{refused}");
    assert!(refused.err.contains(&why), "{refused}");
    let planned = provider.kvshoot_with(&change).run("plan -f shoot.yaml");
    assert!(planned.out.contains(&why), "{planned}");
    let now = provider
        .kvshoot_with(&change)
        .run("apply -f shoot.yaml --now");
    let configured = format!("shoot.core.gardener.cloud/{NAME} configured\n");
    assert_eq!((now.code, &now.out), (0, &configured), "{now}");

    let open = manifest(-1).pool(|it| it["maximum"] = json!(2));
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
    // The rest may be on the next line.
    for kept in [
        format!("the cluster keeps {NEW}"),
        format!("the pool keeps {NEW_IMAGE}"),
    ] {
        assert!(older.err.contains(&kept), "{older}");
    }
    let machines = serde_json::to_string(&provider.list(VM)).unwrap();
    assert!(machines.contains("ubuntu-24-04"), "{machines}");
    assert!(!machines.contains("ubuntu-22-04"), "{machines}");
}
