//! Another machine type, or larger disks, in a pool with `updateStrategy: AutoInPlaceUpdate`: machines are restarted, and keep
//! their disks.

use crate::support::provider::{CLAIM, DATA_VOLUME, Provider, Resource, VM, VMI};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use crate::support::vm_watcher::{Bounds, Watcher};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NAME: &str = "resized";
const DISKS: &str = "larger-disks";
const STORAGE_CLASS: Resource = Resource("storage.k8s.io", "v1", "StorageClass");
const NODE: Resource = Resource("", "v1", "Node");

fn of_type(machine_type: &str) -> Manifest {
    in_place(NAME).pool(|it| it["machine"]["type"] = json!(machine_type))
}

/// Two machines in a pool that restarts them.
fn in_place(name: &str) -> Manifest {
    Manifest::in_place(name).with_size(2)
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
    let machines = provider.uids_of(VM);
    let disks = provider.uids_of(DATA_VOLUME);
    let instances = provider.uids_of(VMI);

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
    assert_eq!(provider.uids_of(VM), machines);
    assert_eq!(provider.uids_of(DATA_VOLUME), disks);
    let restarted = provider.uids_of(VMI);
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
    assert_eq!(provider.uids_of(VM), machines);
}

/// A pool with a root disk and a data volume of these sizes, each of its own class.
fn with_disks(classes: [&str; 2], root: &str, data: &str) -> Manifest {
    let [first, second] = classes;
    let types =
        json!([{ "name": "standard", "class": first }, { "name": "data", "class": second }]);
    in_place(DISKS)
        .pool(|it| {
            it["volume"]["size"] = json!(root);
            it["dataVolumes"] = json!([{ "name": "logs", "type": "data", "size": data }]);
        })
        .with(|it| it.profile["spec"]["volumeTypes"] = types)
}

/// Sizes that the volumes of machines have.
fn capacities(provider: &Provider) -> BTreeMap<String, String> {
    let machines = provider.uids_of(DATA_VOLUME);
    let claims = provider.list(CLAIM).into_iter();
    let claims = claims.filter(|it| machines.contains_key(it.metadata.name.as_ref().unwrap()));
    let capacity = |data: &Value| {
        data["status"]["capacity"]["storage"]
            .as_str()
            .map(str::to_owned)
    };
    claims
        .map(|it| (it.metadata.name.unwrap(), capacity(&it.data).unwrap()))
        .collect()
}

#[test]
#[ignore = "second tier: four starts of machines; the first tier plays histories of such restarts"]
fn disks_become_larger_where_their_storage_class_allows_it() {
    let provider = Provider::new();
    let fixed = format!("{}-fixed", provider.namespace);
    let class = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": { "name": fixed },
        "provisioner": "disk.sandbox.kvshoot.io",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": false,
    });
    provider.create(STORAGE_CLASS, class);
    let classes = ["standard", fixed.as_str()];
    let before = with_disks(classes, "20Gi", "5Gi");
    provider.assert_applied(&before, "created");
    let (machines, instances) = (provider.uids_of(VM), provider.uids_of(VMI));
    let of_machines = |uids: BTreeMap<String, String>| -> BTreeMap<String, String> {
        let is_of_machine = |name: &String| machines.keys().any(|it| name.starts_with(it));
        uids.into_iter().filter(|it| is_of_machine(&it.0)).collect()
    };
    let disks = of_machines(provider.uids_of(CLAIM));
    assert_eq!(disks.len(), 4);

    let larger = with_disks(classes, "30Gi", "5Gi");
    let kvshoot = provider.kvshoot_with(&larger);
    let plan = kvshoot.run("plan -f shoot.yaml");
    let about =
        "    drained and restarted with a root disk of 30Gi, one after another; disks stay\n";
    assert!(plan.out.contains(about), "{plan}");
    let watcher = Watcher::start(&provider, "worker");
    provider.assert_applied(&larger, "configured");
    let bounds = Bounds {
        max_total: 2,
        min_ready: 1,
    };
    watcher.assert_within("a larger root disk", bounds);
    assert_eq!(provider.uids_of(VM), machines);
    assert_eq!(of_machines(provider.uids_of(CLAIM)), disks);
    let restarted = provider.uids_of(VMI);
    assert!(restarted.iter().all(|it| instances[it.0] != *it.1));
    for (name, size) in of_machines(capacities(&provider)) {
        let wanted = if machines.contains_key(&name) {
            "30Gi"
        } else {
            "5Gi"
        };
        assert_eq!(size, wanted, "{name}");
    }
    let shoot = ShootApi::connect(&provider, &kvshoot, DISKS);
    for node in shoot.list(NODE) {
        let capacity = &node.data["status"]["capacity"]["ephemeral-storage"];
        assert_eq!(capacity, "30Gi", "{node:?}");
    }
    provider.assert_unchanged(&larger);

    // What cannot grow, or becomes smaller, replaces machines; `plan` says why.
    for (root, data, reason) in [
        (
            "30Gi",
            "6Gi",
            "its StorageClass does not allow volumes to be expanded",
        ),
        ("20Gi", "5Gi", "a volume cannot become smaller"),
    ] {
        let edited = provider.kvshoot_with(&with_disks(classes, root, data));
        let plan = edited.run("plan -f shoot.yaml");
        assert!(plan.out.contains(reason), "{plan}");
        assert!(!plan.out.contains("restarted"), "{plan}");
    }
}
