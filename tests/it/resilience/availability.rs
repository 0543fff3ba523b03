//! A control plane of several of everything: what ends is missed by nobody.

use crate::support::provider::{CONFIG_MAP, POD, Provider, Resource};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const NAME: &str = "sturdy";
const SLICE: Resource = Resource("discovery.k8s.io", "v1", "EndpointSlice");
const PATIENCE: Duration = Duration::from_secs(120);

/// Its machines look for the API server where nobody is, so none of them ever joins.
#[test]
fn a_server_that_restarts_is_missed_by_nobody_and_loses_nothing() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot_with(&sturdy());
    let apply = kvshoot.start("apply -f shoot.yaml --timeout 10m");
    until("all of the control plane", || {
        ready(&provider, "etcd") == 3 && ready(&provider, "kube-apiserver") == 2
    });
    let inside = ShootApi::connect(&provider, &kvshoot, NAME);
    until("the EndpointSlice of kvshoot", || {
        slice(&inside)["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == "kvshoot"
    });
    apply.interrupt();
    let _ = apply.wait();

    let before = slice(&inside);
    assert_eq!(before["endpoints"][0]["addresses"], json!(["192.0.2.10"]));
    assert_eq!(before["ports"][0]["port"], 6443);
    an_api_server_restarts(&provider, &inside);
    assert_eq!(slice(&inside), before);
    members_restart(&provider, &inside);
    assert_eq!(slice(&inside), before);
}

fn sturdy() -> Manifest {
    Manifest::small(NAME).with(|it| {
        let spec = &mut it.shoot["spec"];
        spec["controlPlane"] = json!({"highAvailability": {"failureTolerance": {"type": "node"}}});
        spec["provider"]["controlPlaneConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "ControlPlaneConfig",
            "nodeAddress": "192.0.2.10",
        });
    })
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn slice(inside: &ShootApi) -> Value {
    let slices = inside.list(SLICE).into_iter();
    let mut ours = slices.filter(|it| it.metadata.namespace.as_deref() == Some("default"));
    ours.next()
        .map_or(Value::Null, |it| serde_json::to_value(it).unwrap())
}

/// Pods of a part that are not about to end.
fn pods(provider: &Provider, part: &str) -> Vec<DynamicObject> {
    let mut pods = provider.list(POD);
    pods.retain(|it| {
        let labels = it.metadata.labels.as_ref();
        let of = labels.and_then(|it| it.get("app.kubernetes.io/component"));
        of.is_some_and(|it| it == part) && it.metadata.deletion_timestamp.is_none()
    });
    pods
}

fn ready(provider: &Provider, part: &str) -> usize {
    let is_ready = |it: &DynamicObject| {
        let conditions = it.data["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
    };
    pods(provider, part)
        .iter()
        .filter(|it| is_ready(it))
        .count()
}

fn name(pod: &DynamicObject) -> String {
    pod.metadata.name.clone().unwrap()
}

/// The longest time between two answers to a client that asks again and again while something is done.
fn longest_gap(inside: &ShootApi, work: impl FnOnce() + Send) -> Duration {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                if inside.answers("/api/v1/namespaces/default", Duration::from_millis(400)) {
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            longest.max(last.elapsed())
        });
        work();
        over.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    })
}

/// A busy computer keeps a client waiting too: that much is added.
fn an_api_server_restarts(provider: &Provider, inside: &ShootApi) {
    let usual = longest_gap(inside, || std::thread::sleep(Duration::from_secs(3)));
    let old = name(&pods(provider, "kube-apiserver")[0]);
    let gap = longest_gap(inside, || {
        provider.delete(POD, &old);
        until("two API servers again", || {
            provider.get(POD, &old).is_none() && ready(provider, "kube-apiserver") == 2
        });
    });
    println!("longest gap {gap:.2?} while an API server restarted, {usual:.2?} otherwise");
    assert!(gap < Duration::from_secs(1) + 3 * usual, "{gap:.2?}");
}

/// One by one they are not even noticed; all at once they come back with what they had.
fn members_restart(provider: &Provider, inside: &ShootApi) {
    let note = |name: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        inside.create(CONFIG_MAP, "default", object);
    };
    note("before");
    let members: Vec<String> = pods(provider, "etcd").iter().map(name).collect();
    assert_eq!(members.len(), 3);
    provider.delete(POD, &members[0]);
    until("three members again", || ready(provider, "etcd") == 3);
    note("between");
    let uids = |it: &Provider| -> Vec<_> {
        pods(it, "etcd")
            .into_iter()
            .map(|it| it.metadata.uid)
            .collect()
    };
    let old = uids(provider);
    for member in &members {
        provider.delete(POD, member);
    }
    until("three new members", || {
        ready(provider, "etcd") == 3 && uids(provider).iter().all(|it| !old.contains(it))
    });
    until("an answer", || {
        inside.answers("/readyz", Duration::from_secs(2))
    });
    for name in ["before", "between"] {
        inside.get(CONFIG_MAP, "default", name);
    }
}
