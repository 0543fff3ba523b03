//! A highly available control plane: restarts without downtime or data loss.

use crate::support::provider::{CONFIG_MAP, POD, Provider, Resource, STATEFUL_SET};
use crate::support::shoot_api::ShootApi;
use crate::support::shoot_api::writer::write_during;
use crate::support::shoots::Manifest;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::time::Duration;

const NAME: &str = "sturdy";
const SLICE: Resource = Resource("discovery.k8s.io", "v1", "EndpointSlice");

/// The node address leads nowhere, so machines never join, which this test does not need.
#[test]
#[ignore = "second tier: three etcd members and two API servers; unit tests have their objects"]
fn restarts_of_api_servers_and_etcd_members_cause_no_downtime_and_no_data_loss() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot_with(&manifest());
    let apply = kvshoot.start("apply -f shoot.yaml --timeout 10m");
    provider.wait_for("the control plane", |_| {
        ready_pods(&provider, "etcd") == 3
            && ready_pods(&provider, "kube-apiserver") == 2
            && have_last_template(&provider)
    });
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    provider.wait_for("the EndpointSlice of kvshoot", |_| {
        slice(&api)["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == "kvshoot"
    });
    apply.interrupt();
    let _ = apply.wait();

    let before = slice(&api);
    assert_eq!(before["endpoints"][0]["addresses"], json!(["192.0.2.10"]));
    assert_eq!(before["ports"][0]["port"], 6443);
    an_api_server_restarts(&provider, &api);
    assert_eq!(slice(&api), before);
    members_restart(&provider, &api);
    assert_eq!(slice(&api), before);
}

fn manifest() -> Manifest {
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

fn slice(api: &ShootApi) -> Value {
    let slices = api.list(SLICE).into_iter();
    let mut ours = slices.filter(|it| it.metadata.namespace.as_deref() == Some("default"));
    ours.next()
        .map_or(Value::Null, |it| serde_json::to_value(it).unwrap())
}

/// Pods of a component that are not terminating.
fn pods(provider: &Provider, part: &str) -> Vec<DynamicObject> {
    let mut pods = provider.list(POD);
    pods.retain(|pod| {
        let labels = pod.metadata.labels.as_ref();
        let component = labels.and_then(|labels| labels.get("app.kubernetes.io/component"));
        component.is_some_and(|name| name == part) && pod.metadata.deletion_timestamp.is_none()
    });
    pods
}

fn ready_pods(provider: &Provider, part: &str) -> usize {
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

/// Members restart one after the other once all have joined; an interrupted run would leave that to the next one.
fn have_last_template(provider: &Provider) -> bool {
    let etcd = provider.list(STATEFUL_SET).into_iter();
    let last: Vec<Value> = etcd
        .map(|it| it.data["status"]["updateRevision"].clone())
        .collect();
    let revisions = pods(provider, "etcd").into_iter().map(|pod| {
        let labels = pod.metadata.labels.unwrap_or_default();
        labels.get("controller-revision-hash").cloned()
    });
    revisions.into_iter().all(|it| last == [json!(it)])
}

fn name(pod: &DynamicObject) -> String {
    pod.metadata.name.clone().unwrap()
}

fn an_api_server_restarts(provider: &Provider, api: &ShootApi) {
    let old = name(&pods(provider, "kube-apiserver")[0]);
    let writer = write_during(api, "restart", || {
        provider.delete(POD, &old);
        provider.wait_for("two API servers again", |_| {
            provider.get(POD, &old).is_none() && ready_pods(provider, "kube-apiserver") == 2
        });
    });
    writer.assert_gap(Duration::from_secs(1));
}

/// The restart of one member is not noticeable; after the restart of all members, the data is still there.
fn members_restart(provider: &Provider, api: &ShootApi) {
    let create_config_map = |name: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        api.create(CONFIG_MAP, "default", object);
    };
    create_config_map("before");
    let members: Vec<String> = pods(provider, "etcd").iter().map(name).collect();
    assert_eq!(members.len(), 3);
    provider.delete(POD, &members[0]);
    provider.wait_for("three members again", |_| ready_pods(provider, "etcd") == 3);
    create_config_map("between");
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
    provider.wait_for("three new members", |_| {
        ready_pods(provider, "etcd") == 3 && uids(provider).iter().all(|it| !old.contains(it))
    });
    provider.wait_for("a response", |_| {
        api.responds("/readyz", Duration::from_secs(2))
    });
    for name in ["before", "between"] {
        api.get(CONFIG_MAP, "default", name);
    }
}
