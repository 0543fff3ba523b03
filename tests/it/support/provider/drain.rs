//! Drains of hosts: KubeVirt rejects the eviction of a machine's pod, and marks the machine.

use super::{POD, Provider, VMI};
use kube::api::PostParams;
use serde_json::{Value, json};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// All tests share the hosts, and a machine may stay on a host that a run of kvshoot has seen cordoned and uncordoned. So a
/// test cordons one only while no other one drains any.
static CORDONS: RwLock<()> = RwLock::new(());

/// Keeps hosts from being cordoned while machines are drained from theirs.
pub(crate) fn without_cordons() -> RwLockReadGuard<'static, ()> {
    CORDONS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no other test drains any host, and keeps others from it while this one cordons hosts.
pub(crate) fn cordoning() -> RwLockWriteGuard<'static, ()> {
    CORDONS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Evicts the pod of a machine, like `kubectl drain`. Returns when KubeVirt has rejected the eviction and marked the
/// machine.
pub(crate) fn evict(provider: &Provider, machine: &str) {
    let pods = provider.list(POD).into_iter();
    let is_its = |it: &Value| {
        let is_alive = it["status"]["phase"] == "Running";
        is_alive && it["metadata"]["annotations"]["kubevirt.io/domain"] == machine
    };
    let mut pods = pods.filter(|it| is_its(&serde_json::to_value(it).unwrap()));
    let pod = pods.next().unwrap().metadata.name.unwrap();
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": { "name": pod, "namespace": provider.namespace },
    });
    let api = provider.api(POD);
    let name = pod.clone();
    let request = provider.spawn(async move {
        let params = PostParams::default();
        let answer = api.create_subresource::<Value, Value>("eviction", &name, &params, &eviction);
        let _ = answer.await;
    });
    provider.wait_for("KubeVirt to mark the machine", |it| {
        evacuated(it, machine).is_some()
    });
    // The client repeats a request that was rejected for now, which would mark the machine again.
    request.abort();
    assert!(provider.get(POD, &pod).is_some(), "{pod} was evicted");
}

/// Returns the node that a machine must leave, as marked by KubeVirt.
pub(crate) fn evacuated(provider: &Provider, machine: &str) -> Option<String> {
    let instance = provider.get(VMI, machine)?;
    let host = instance.data["status"]["evacuationNodeName"].as_str();
    host.map(str::to_owned)
}

/// Returns true if no pod of the machine blocks a drain.
pub(crate) fn has_no_active_pod(provider: &Provider, machine: &str) -> bool {
    let pods = provider.list(POD).into_iter();
    let mut pods = pods.map(|it| serde_json::to_value(it).unwrap());
    !pods.any(|it| {
        let is_finished = matches!(it["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        it["metadata"]["annotations"]["kubevirt.io/domain"] == machine && !is_finished
    })
}
