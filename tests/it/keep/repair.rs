//! Machines whose node is not healthy: restarted, then replaced.

use super::{uid, wait_at_most};
use crate::support::provider::{DEPLOYMENT, POD, Provider, VM};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::{Value, json};
use std::time::Duration;

/// Detection, three minutes of looking, a restart, and the same again until the replacement.
const LIMIT: Duration = Duration::from_secs(25 * 60);

fn manifest() -> Manifest {
    let settings = json!({ "machineHealthTimeout": "2m" });
    let manifest = Manifest::named("repaired").pool(|it| {
        it["machineControllerManager"] = settings;
        it["maxSurge"] = json!(1);
        it["maxUnavailable"] = json!(0);
    });
    manifest.with_size(3)
}

fn annotation(provider: &Provider, machine: &str, key: &str) -> Value {
    let machine = provider.get(VM, machine).unwrap();
    let annotations = machine.metadata.annotations.unwrap_or_default();
    annotations.get(key).map_or(Value::Null, |it| json!(it))
}

#[test]
#[ignore = "second tier: a quarter of an hour; the first tier plays histories of faults"]
fn a_silent_node_is_restarted_and_then_replaced() {
    let provider = Provider::new();
    let manifest = manifest();
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let before = provider.names(VM);
    let victim = before[0].clone();
    let instance = uid(&provider, &victim);
    let mut keep = kvshoot.start("keep repaired");
    keep.wait_for("keeping 1 shoot", PATIENCE);

    provider.fail(&format!("node-silent {victim}"));
    wait_at_most(LIMIT, "the machine to be restarted", || {
        let now = uid(&provider, &victim);
        now.is_some() && now != instance
    });
    assert_ne!(
        annotation(&provider, &victim, "kvshoot.io/restarted-at"),
        Value::Null
    );
    assert_eq!(provider.names(VM), before, "restarted, not replaced");
    // It stays silent, so that the restart does not help.
    wait_at_most(LIMIT, "the machine to be replaced", || {
        provider.get(VM, &victim).is_none()
    });
    provider.wait_for("the run of keep to end", |_| {
        keep.stdout().contains(" kept\n")
    });
    let after = provider.names(VM);
    assert_eq!(after.len(), 3);
    let stayed = before.iter().filter(|it| after.contains(it)).count();
    assert_eq!(stayed, 2, "{before:?} {after:?}");
    keep.interrupt();
    assert_eq!(keep.wait().code, 130);
    provider.assert_unchanged(&manifest);
}

/// Waits until the pod of a Deployment is available. A node is ready before its pods are.
fn wait_until_available(shoot: &ShootApi, deployment: &str) {
    shoot.wait_for(DEPLOYMENT, ("kube-system", deployment), |it| {
        it["status"]["availableReplicas"] == json!(1)
    });
}

/// Waits until the pod of a Deployment has started again and is available.
fn wait_for_restart(shoot: &ShootApi, deployment: &str) {
    let pods = shoot.list(POD);
    let mut names = pods.iter().filter_map(|it| it.metadata.name.as_deref());
    let name = names.find(|it| it.starts_with(deployment)).unwrap();
    shoot.wait_for(POD, ("kube-system", name), |pod| {
        let container = &pod["status"]["containerStatuses"][0];
        container["restartCount"].as_u64() > Some(0) && container["ready"] == json!(true)
    });
    wait_until_available(shoot, deployment);
}

#[test]
#[ignore = "second tier: two rounds of machines; the first tier holds the wishes and the plan"]
fn nodes_are_restarted_replaced_and_cordoned_by_name() {
    let provider = Provider::new();
    let manifest = Manifest::small("named").pool(|it| it["maxSurge"] = json!(1));
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let machine = provider.names(VM).remove(0);
    let instance = uid(&provider, &machine);

    let api = ShootApi::connect(&provider, &kvshoot, "named");
    let is_cordoned = || {
        let node = api.list(crate::support::provider::Resource("", "v1", "Node"));
        node[0].data["spec"]["unschedulable"] == json!(true)
    };
    let cordoned = kvshoot.run(&format!("nodes cordon named {machine}"));
    assert_eq!(
        cordoned.out,
        format!("node/{machine} cordoned\n"),
        "{cordoned}"
    );
    assert!(is_cordoned());
    let uncordoned = kvshoot.run(&format!("nodes uncordon named {machine}"));
    assert_eq!(uncordoned.code, 0, "{uncordoned}");
    assert!(!is_cordoned());

    // Only a pod that has started before the restart counts it.
    wait_until_available(&api, "metrics-server");
    let restarted = kvshoot.run(&format!("nodes restart named {machine}"));
    assert_eq!(restarted.code, 0, "{restarted}");
    assert_eq!(restarted.out, format!("node/{machine} restarted\n"));
    let now = uid(&provider, &machine);
    assert!(now.is_some() && now != instance, "{now:?}");
    assert_eq!(provider.names(VM), [machine.as_str()]);
    wait_for_restart(&api, "metrics-server");
    provider.assert_unchanged(&manifest);

    let replaced = kvshoot.run(&format!("nodes replace named {machine}"));
    assert_eq!(replaced.code, 0, "{replaced}");
    assert!(provider.get(VM, &machine).is_none());
    assert_eq!(provider.names(VM).len(), 1);
    provider.assert_unchanged(&manifest);

    let missing = kvshoot.run("nodes restart named missing");
    assert_eq!(missing.code, 7, "{missing}");
    assert!(
        missing.err.contains("machine \"missing\" not found"),
        "{missing}"
    );
}

/// Approved requests of older nodes are deleted after an hour, so they show no longer which certificate a kubelet has.
#[test]
#[ignore = "second tier: a sandbox of its own; unit tests hold what a run waits for"]
fn the_metrics_of_an_old_node_work_after_its_restart() {
    let provider = Provider::with_clock();
    let manifest = Manifest::small("old");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let machine = provider.names(VM).remove(0);
    let api = ShootApi::connect(&provider, &kvshoot, "old");
    wait_until_available(&api, "metrics-server");

    provider.move_clock("--forward 2h");
    let restarted = kvshoot.run(&format!("nodes restart old {machine}"));
    assert_eq!(restarted.code, 0, "{restarted}");
    wait_for_restart(&api, "metrics-server");
    provider.assert_deleted("old");
}
