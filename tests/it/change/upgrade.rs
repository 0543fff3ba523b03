//! Another version of Kubernetes, after checks that write nothing.

use super::drain::{BUDGET, protect_a_pod};
use crate::support::provider::Provider;
use crate::support::shoot_api::{NODE, ShootApi};
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NAME: &str = "upgraded";
const OLD: &str = "1.33.6";
const NEW: &str = "1.34.2";

/// Two pools with one machine each; `other` stays behind.
fn manifest() -> Manifest {
    Manifest::small(NAME).with(|it| {
        it.shoot["spec"]["kubernetes"]["version"] = json!(OLD);
        let workers = it.shoot["spec"]["provider"]["workers"].as_array_mut();
        let workers = workers.unwrap();
        let mut other = workers[0].clone();
        other["name"] = json!("other");
        workers.push(other);
    })
}

/// Versions of the kubelets by pool.
fn kubelets(api: &ShootApi) -> BTreeMap<String, String> {
    let nodes = api.list(NODE).into_iter();
    nodes
        .map(|node| {
            let labels = node.metadata.labels.unwrap_or_default();
            let version = &node.data["status"]["nodeInfo"]["kubeletVersion"];
            let pool = labels["worker.gardener.cloud/pool"].clone();
            (pool, version.as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

#[test]
#[ignore = "second tier: a control plane and a pool are replaced; unit tests hold versions, checks and the new Shoot"]
fn an_upgrade_is_checked_before_anything_is_written_and_pools_may_stay_behind() {
    let provider = Provider::new();
    provider.assert_applied(&manifest(), "created");
    let kvshoot = provider.kvshoot_with(&manifest());
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    protect_a_pod(&api);

    let list = kvshoot.run(&format!("upgrade {NAME} --list -o json"));
    assert_eq!(list.code, 0, "{list}");
    let list: Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!(list["components"][0]["version"], OLD, "{list}");
    assert_eq!(list["components"][1]["nodes"]["withVersion"], 1, "{list}");
    let offered = list["offered"].as_array().unwrap();
    let next = offered.iter().find(|it| it["version"] == NEW);
    assert_eq!(next.unwrap()["upgrade"], "next minor", "{list}");

    let before = provider.settled_contents();
    let upgrade = format!("upgrade {NAME} --to 1.34 --pools worker");
    let refused = kvshoot.run(&upgrade);
    assert_eq!((refused.code, &*refused.out), (4, ""), "{refused}");
    let reason = "disruption-budget: PodDisruptionBudget default/web requires 1 healthy pods of 1";
    assert!(refused.err.contains(reason), "{refused}");
    let ignore = format!("upgrade {NAME} --to {NEW} --ignore=disruption-budget");
    assert!(refused.err.contains(&ignore), "{refused}");
    assert_eq!(provider.settled_contents(), before);

    let mut running = kvshoot.start(&format!("{upgrade} --ignore disruption-budget"));
    running.wait_for("(ignored)", PATIENCE);
    // Otherwise, the drain would wait for it.
    let patch = json!({"spec": {"minAvailable": 0}});
    provider.wait_for("the budget to change", |_| {
        api.is_patched(BUDGET, ("default", "web"), &patch)
    });
    let done = running.wait();
    let result = format!("shoot.core.gardener.cloud/{NAME} upgraded\n");
    assert_eq!((done.code, &done.out), (0, &result), "{done}");
    let versions = kubelets(&api);
    assert_eq!(versions["worker"], format!("v{NEW}"), "{versions:?}");
    assert_eq!(versions["other"], format!("v{OLD}"), "{versions:?}");

    let list = kvshoot.run(&format!("upgrade {NAME} --list"));
    let rows: Vec<Vec<&str>> = list
        .out
        .lines()
        .map(|it| it.split_whitespace().collect())
        .collect();
    assert_eq!(rows[1], ["control", "plane", NEW, "<none>"], "{list}");
    assert_eq!(rows[2], ["pool", "worker", NEW, "1/1"], "{list}");
    assert_eq!(rows[3], ["pool", "other", OLD, "1/1"], "{list}");

    let again = kvshoot.run(&upgrade);
    let unchanged = format!("shoot.core.gardener.cloud/{NAME} unchanged\n");
    assert_eq!((again.code, &again.out), (0, &unchanged), "{again}");
    let lower = kvshoot.run(&format!("upgrade {NAME} --to {OLD}"));
    assert_eq!(lower.code, 4, "{lower}");
    let reason = format!("Kubernetes cannot be downgraded from {NEW} to {OLD}");
    assert!(lower.err.contains(&reason), "{lower}");
}
