//! Another machine type in a pool with `updateStrategy: AutoInPlaceUpdate`: machines are restarted, and keep their disks.

use crate::support::provider::{DATA_VOLUME, Provider, Resource, VM, VMI};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use crate::support::vm_watcher::{Bounds, Watcher};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NAME: &str = "resized";
const NODE: Resource = Resource("", "v1", "Node");

fn of_type(machine_type: &str) -> Manifest {
    Manifest::small(NAME).with_size(2).pool(|it| {
        it["machine"]["type"] = json!(machine_type);
        it["updateStrategy"] = json!("AutoInPlaceUpdate");
        it.as_object_mut().unwrap().remove("maxSurge");
        it.as_object_mut().unwrap().remove("maxUnavailable");
    })
}

/// UIDs of all objects of a kind, by name.
fn uids(provider: &Provider, kind: Resource) -> BTreeMap<String, String> {
    let all = provider.list(kind).into_iter();
    all.map(|it| (it.metadata.name.unwrap(), it.metadata.uid.unwrap()))
        .collect()
}

/// CPU and memory that the running machines request.
fn requests(provider: &Provider) -> Vec<Value> {
    let instances = provider.list(VMI);
    let requests = |data: &Value| data["spec"]["domain"]["resources"]["requests"].clone();
    instances.iter().map(|it| requests(&it.data)).collect()
}

#[test]
#[ignore = "second tier: four starts of machines; the first tier plays histories of such restarts"]
fn machines_get_another_size_one_after_another_and_keep_their_disks() {
    let provider = Provider::new();
    let (small, medium) = (of_type("small"), of_type("medium"));
    provider.assert_applied(&small, "created");
    let machines = uids(&provider, VM);
    let disks = uids(&provider, DATA_VOLUME);
    let instances = uids(&provider, VMI);

    let kvshoot = provider.kvshoot_with(&medium);
    let plan = kvshoot.run("plan -f shoot.yaml");
    for name in machines.keys() {
        let line = format!(
            "~ VirtualMachine {} ",
            name.strip_prefix("shoot--local--resized-").unwrap()
        );
        assert!(plan.out.contains(&line), "{plan}");
    }
    let about = "    drained and restarted with 2 CPU and 4Gi, one after another; disks stay\n";
    assert!(plan.out.contains(about), "{plan}");
    assert!(plan.out.contains(" 0 to delete."), "{plan}");

    let watcher = Watcher::start(&provider, "worker");
    provider.assert_applied(&medium, "configured");
    let bounds = Bounds {
        max_total: 2,
        min_ready: 1,
    };
    watcher.assert_within("another machine type", bounds);
    assert_eq!(uids(&provider, VM), machines);
    assert_eq!(uids(&provider, DATA_VOLUME), disks);
    let restarted = uids(&provider, VMI);
    assert!(restarted.keys().eq(instances.keys()));
    assert!(restarted.iter().all(|it| instances[it.0] != *it.1));
    let wanted = json!({ "cpu": "2", "memory": "4Gi" });
    assert_eq!(requests(&provider), [wanted.clone(), wanted]);
    let shoot = ShootApi::connect(&provider, &kvshoot, NAME);
    for node in shoot.list(NODE) {
        assert_eq!(node.data["spec"]["unschedulable"], Value::Null, "{node:?}");
        assert_eq!(node.data["status"]["capacity"]["cpu"], "2", "{node:?}");
    }
    provider.assert_unchanged(&medium);

    // Without the strategy, machines that have this size already stay.
    let rolling = medium.pool(|it| {
        it["updateStrategy"] = json!("AutoRollingUpdate");
        it["maxUnavailable"] = json!(1);
    });
    provider.assert_applied(&rolling, "configured");
    assert_eq!(uids(&provider, VM), machines);
}
