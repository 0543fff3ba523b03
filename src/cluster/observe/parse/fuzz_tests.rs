//! Random mutations of what API servers answer.

use super::object::parse;
use crate::cluster::client::resources::{ResourceScope, SHOOT_KINDS};
use crate::cluster::event::KubernetesEvent;
use crate::cluster::observe::cache::Cache;
use crate::cluster::testing::{ID, observation};
use crate::fuzz::{ROUNDS, fuzz, fuzz_json};
use crate::state::key::{ClusterSide, ObjectKind};
use serde_json::{Value, json};
use std::time::Duration;

const PROVIDER_KINDS: [ObjectKind; 8] = [
    ObjectKind::Record,
    ObjectKind::Machine,
    ObjectKind::VirtualMachineInstance,
    ObjectKind::ImageVolume,
    ObjectKind::StatefulSet,
    ObjectKind::Deployment,
    ObjectKind::Service,
    ObjectKind::Secret,
];

fn scopes() -> Vec<ResourceScope> {
    let provider = PROVIDER_KINDS.map(|it| (ClusterSide::Provider, it));
    let shoot = SHOOT_KINDS.map(|it| (ClusterSide::Shoot, it));
    [&provider[..], &shoot].concat()
}

/// One recorded object of each resource, as text.
fn objects() -> Vec<String> {
    let observation = observation();
    let sides = ["provider", "shoot"].map(|it| observation[it].as_object().cloned());
    let lists = sides.into_iter().flatten().flatten();
    let first = lists.filter_map(|(_, items)| items.get(0).map(Value::to_string));
    first.collect()
}

/// Each object is read as each kind, by a cache that derives facts from it.
#[test]
fn no_object_causes_a_panic_or_a_hang() {
    let objects = objects();
    let seeds: Vec<&[u8]> = objects.iter().map(String::as_bytes).collect();
    let scopes = scopes();
    fuzz(&seeds, |text, round| {
        let Ok(object) = serde_json::from_slice::<Value>(text) else {
            return;
        };
        let scope = scopes[usize::try_from(round).expect("few") % scopes.len()];
        let _ = parse(scope, &object);
        let mut cache = Cache::new(ID);
        if cache.put(scope, &object, Duration::ZERO, None).is_ok() {
            let _ = cache.facts(Duration::from_secs(1));
            let _ = cache.remove(scope, &object);
        }
    });
}

/// As the one before, for answers that are JSON.
#[test]
fn no_value_of_an_object_causes_a_panic_or_a_hang() {
    let objects: Vec<Value> = objects()
        .iter()
        .map(|it| serde_json::from_str(it).expect("it was recorded"))
        .collect();
    let scopes = scopes();
    fuzz_json(ROUNDS, &json!(objects), |objects, _| {
        let mut cache = Cache::new(ID);
        let objects = objects.as_array().into_iter().flatten();
        for (object, scope) in objects.zip(&scopes) {
            let _ = cache.put(*scope, object, Duration::ZERO, Some(1_767_225_600));
        }
        let _ = cache.facts(Duration::from_secs(1));
    });
}

/// Others may write the values of a record.
#[test]
fn no_value_in_a_record_causes_a_panic_or_a_hang() {
    let values = json!({
        "sizes.json": { "cpu": 3 },
        "etcd.json": { "incarnation": 1, "clusterId": "14841639068965178418", "revision": 812,
            "restore": { "backup": "a/b/c", "snapshot": 7, "target": 2, "stage": "receive" } },
        "rotation.json": { "ca": { "step": "prepare", "since": 5 } },
        "hibernation.json": { "enabled": true, "complete": false, "since": 5, "began": 6, "lastTrigger": 7 },
        "runs.json": [{ "verb": "apply", "result": "converged", "started": "2026-01-02T03:04:05Z" }],
        "expiry": "2026-01-02T03:04:05Z",
        "cluster-ip": "10.0.0.1",
    });
    fuzz_json(ROUNDS, &values, |values, _| {
        let fields = values.as_object().into_iter().flatten();
        let data = fields.map(|(key, value)| match value {
            Value::String(text) => (key.clone(), json!(text)),
            value => (key.clone(), json!(value.to_string())),
        });
        let data: Value = data.collect::<serde_json::Map<_, _>>().into();
        let metadata = json!({ "name": ID, "uid": "r", "resourceVersion": "1" });
        let record = json!({ "metadata": metadata, "data": data });
        let mut cache = Cache::new(ID);
        let scope = (ClusterSide::Provider, ObjectKind::Record);
        if cache.put(scope, &record, Duration::ZERO, None).is_ok() {
            let _ = cache.facts(Duration::from_secs(1));
        }
    });
}

#[test]
fn no_event_causes_a_panic_or_a_hang() {
    let event = json!({
        "kind": "Event", "apiVersion": "v1", "type": "Warning", "reason": "FailedCreate", "count": 3,
        "metadata": { "name": "a.1", "uid": "1", "creationTimestamp": "2026-01-02T03:04:05Z" },
        "involvedObject": { "kind": "Pod", "name": "a", "namespace": "b", "uid": "2" },
        "message": "exceeded quota: few, requested: cpu=1, used: cpu=2, limited: cpu=2",
        "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:06Z",
        "eventTime": "2026-01-02T03:04:05.123456Z", "reportingComponent": "a", "source": { "component": "b" },
        "series": { "count": 4, "lastObservedTime": "2026-01-02T03:04:07.123456Z" },
    });
    fuzz(&[event.to_string().as_bytes()], |text, _| {
        if let Ok(event) = serde_json::from_slice::<Value>(text) {
            let _ = KubernetesEvent::parse(ClusterSide::Provider, &event);
        }
    });
    fuzz_json(ROUNDS, &event, |event, _| {
        let _ = KubernetesEvent::parse(ClusterSide::Shoot, event);
    });
}
