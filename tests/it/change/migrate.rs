//! Hosts that are drained: KubeVirt migrates machines whose eviction strategy is LiveMigrate. Nothing is replaced, and no pod
//! inside is evicted.

use crate::support::provider::drain::{evacuated, evict};
use crate::support::provider::{POD, Provider, VMI};
use crate::support::shoot_api::{NODE, ShootApi};
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A pool whose machines KubeVirt can migrate.
fn manifest(name: &str, size: u32) -> Manifest {
    Manifest::small(name).with_size(size).pool(|it| {
        it["machine"] = json!({ "type": "small", "image": { "name": "ubuntu", "version": "24.04" } });
        it.as_object_mut().unwrap().remove("volume");
        it["providerConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "WorkerConfig",
            "evictionStrategy": "LiveMigrate",
            "template": { "primaryDisk": {
                "size": "20Gi", "storageClassName": "standard", "storageAccessType": "ReadWriteMany",
            } },
        });
    })
}

/// Hosts of all machines.
fn hosts(provider: &Provider) -> BTreeMap<String, String> {
    let instances = provider.list(VMI).into_iter();
    let host = |data: &Value| {
        data["status"]["nodeName"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    instances
        .map(|it| (it.metadata.name.unwrap(), host(&it.data)))
        .collect()
}

/// Number of pods in which machines run.
fn launchers(provider: &Provider) -> usize {
    let pods = provider.list(POD);
    let runs = |data: &Value| data["status"]["phase"] == "Running";
    let is_launcher = |it: &&kube::core::DynamicObject| {
        let labels = it.metadata.labels.as_ref();
        labels.is_some_and(|it| {
            it.get("kubevirt.io")
                .is_some_and(|it| it == "virt-launcher")
        })
    };
    pods.iter()
        .filter(is_launcher)
        .filter(|it| runs(&it.data))
        .count()
}

/// UIDs of all nodes and pods of a shoot.
fn inside(shoot: &ShootApi) -> BTreeMap<String, String> {
    let all = [NODE, POD].into_iter().flat_map(|it| shoot.list(it));
    let uid = |it: kube::core::DynamicObject| (it.metadata.name.unwrap(), it.metadata.uid.unwrap());
    all.map(uid).collect()
}

#[test]
#[ignore = "second tier: ten machines"]
fn ten_machines_migrate_from_drained_hosts_and_none_is_replaced() {
    let name = "migrated";
    let provider = Provider::new();
    let manifest = manifest(name, 10);
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let shoot = ShootApi::connect(&provider, &kvshoot, name);
    let (uids, before, pods) = (provider.uids(), hosts(&provider), inside(&shoot));
    let mut keep = kvshoot.start(&format!("keep {name}"));
    keep.wait_for("keeping 1 shoot", PATIENCE);

    for machine in before.keys() {
        evict(&provider, machine);
    }
    let has_moved = |it: &Provider| {
        let now = hosts(it);
        before
            .iter()
            .all(|(name, host)| now[name] != *host && evacuated(it, name).is_none())
    };
    provider.wait_for("the machines to migrate", has_moved);
    provider.wait_for("the former pods of machines to end", |it| {
        launchers(it) == 10
    });
    assert_eq!(provider.uids(), uids);
    assert_eq!(inside(&shoot), pods);
    assert_eq!(shoot.nodes_with("True"), 10);
    keep.interrupt();
    let output = keep.wait();
    assert!(!output.out.contains("kept"), "{output}");
    assert_eq!(
        kvshoot.run("evacuate").err,
        "no machines on draining nodes\n"
    );
    provider.assert_unchanged(&manifest);
}

#[test]
#[ignore = "second tier: KubeVirt waits before it tries again; when it is given up is in the unit tests of the cache"]
fn a_migration_that_fails_is_tried_again_and_one_that_hangs_can_end() {
    let name = "migrated-late";
    let provider = Provider::new();
    let manifest = manifest(name, 2);
    provider.assert_applied(&manifest, "created");
    let (uids, before) = (provider.uids(), hosts(&provider));
    let [failing, stuck] = [0, 1].map(|it| before.keys().nth(it).unwrap().clone());
    provider.fail(&format!("migration-fail {failing}"));
    provider.fail(&format!("migration-stuck {stuck}"));
    for machine in [&failing, &stuck] {
        evict(&provider, machine);
    }
    let migration = |it: &Provider, machine: &str| {
        it.get(VMI, machine).unwrap().data["status"]["migrationState"].clone()
    };
    provider.wait_for("a migration to fail", |it| {
        migration(it, &failing)["failed"] == true
    });
    provider.wait_for("a migration to begin", |it| {
        migration(it, &stuck)["startTimestamp"].is_string()
    });
    assert_eq!(hosts(&provider), before);
    assert_eq!(
        provider.kvshoot_with(&manifest).run("evacuate").err,
        "no machines on draining nodes\n"
    );
    for machine in [&failing, &stuck] {
        provider.fail(&format!("none {machine}"));
    }
    provider.wait_for("both machines to migrate", |it| {
        let now = hosts(it);
        before.iter().all(|(name, host)| now[name] != *host)
    });
    provider.wait_for("the former pods of machines to end", |it| {
        launchers(it) == 2
    });
    assert_eq!(provider.uids(), uids);
    provider.assert_unchanged(&manifest);
}
