//! Status of single objects: Secrets, rollouts of workloads, availability of APIs, nodes. Pure functions.

use crate::cluster::client::service::service;
use crate::cluster::json::{items, text};
use crate::cluster::observe::parse::types::ParsedNode;
use crate::state::facts::{ObjectStatus, ObservedCertificate, ObservedSecret, Rollout};
use crate::state::hash::Hash;
use crate::state::key::ObjectKind;
use crate::state::names;
use serde_json::Value;
use std::sync::Arc;

/// Taints that keep pods off a ready node during its start, with an explanation.
const STARTUP_TAINTS: [(&str, &str); 2] = [
    (
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node not initialized by the cloud controller manager",
    ),
    (
        "node.kubernetes.io/not-ready",
        "node has taint node.kubernetes.io/not-ready",
    ),
];

/// None for kinds without a status that matters.
pub(crate) fn status_fact(kind: ObjectKind, object: &Value) -> Option<ObjectStatus> {
    Some(match kind {
        ObjectKind::Secret => ObjectStatus::Secret(secret(object)),
        ObjectKind::Service => ObjectStatus::Service(service(object)),
        ObjectKind::Deployment | ObjectKind::StatefulSet => {
            ObjectStatus::Rollout(replicated_rollout(object))
        }
        ObjectKind::DaemonSet => ObjectStatus::Rollout(daemon_set_rollout(object)),
        ObjectKind::ApiService => ObjectStatus::Answer(api_service_failure(object)),
        _ => return None,
    })
}

/// Annotations of a Secret with keys; its data are not read.
fn secret(object: &Value) -> ObservedSecret {
    let annotations = &object["metadata"]["annotations"];
    let hash = |key: &str| Hash::parse(text(&annotations[key])).unwrap_or_default();
    let number = |key: &str| text(&annotations[key]).parse::<i64>().ok();
    let certificate = number(names::NOT_AFTER).map(|expires| ObservedCertificate {
        names: text(&annotations[names::CERTIFICATE_NAMES])
            .split(',')
            .filter(|it| !it.is_empty())
            .map(Arc::from)
            .collect(),
        key: hash(names::CERTIFICATE_KEY),
        issuer: hash(names::CERTIFICATE_ISSUER),
        issued: number(names::NOT_BEFORE).unwrap_or_default(),
        expires,
    });
    ObservedSecret {
        checksum: hash(names::CHECKSUM),
        certificate,
        ca: annotations[names::CERTIFICATE_AUTHORITY]
            .as_str()
            .map(Arc::from),
    }
}

/// Rollout of a Deployment or a StatefulSet.
fn replicated_rollout(object: &Value) -> Rollout {
    let status = &object["status"];
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    rollout(
        object,
        wanted,
        count("updatedReplicas"),
        count("availableReplicas"),
        count("replicas"),
    )
}

/// Rollout of a DaemonSet, which is complete without nodes.
fn daemon_set_rollout(object: &Value) -> Rollout {
    let status = &object["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    let wanted = count("desiredNumberScheduled");
    rollout(
        object,
        wanted,
        count("updatedNumberScheduled"),
        count("numberAvailable"),
        wanted,
    )
}

fn rollout(object: &Value, wanted: i64, updated: i64, available: i64, all: i64) -> Rollout {
    let generation = object["metadata"]["generation"].as_i64();
    let observed = object["status"]["observedGeneration"].as_i64();
    let why = if generation > observed {
        Some("controller has not observed the latest generation".to_owned())
    } else if updated < wanted {
        Some(format!("{updated} of {wanted} pods updated"))
    } else if all > updated {
        Some("old pods are terminating".to_owned())
    } else if available < wanted {
        Some(format!("{available} of {wanted} pods available"))
    } else {
        None
    };
    Rollout {
        why: why.map(Arc::from),
        available,
    }
}

fn api_service_failure(object: &Value) -> Option<Arc<str>> {
    let condition = condition(object, "Available");
    match condition.filter(|it| it["status"] == "True") {
        Some(_) => None,
        None => Some(condition.map_or_else(
            || "availability not checked yet".into(),
            |it| Arc::from(text(&it["message"])),
        )),
    }
}

pub(crate) fn node(object: &Value) -> ParsedNode {
    let ready = condition(object, "Ready");
    let taints = items(&object["spec"]["taints"]);
    let why = match ready.filter(|it| it["status"] == "True") {
        None => Some(ready.map_or_else(
            || "kubelet has not reported a status".into(),
            |it| Arc::from(text(&it["message"])),
        )),
        Some(_) => {
            let has_taint = |key: &str| taints.iter().any(|it| it["key"] == key);
            let taint = STARTUP_TAINTS.iter().find(|it| has_taint(it.0));
            taint.map(|it| it.1.into())
        }
    };
    let provider = text(&object["spec"]["providerID"]);
    ParsedNode {
        why,
        is_ours: provider.starts_with("kubevirt://shoot--"),
        taints: taints.to_vec().into(),
        metadata: text(&object["metadata"]["annotations"][names::POOL_METADATA]).into(),
    }
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    items(&object["status"]["conditions"])
        .iter()
        .find(|it| it["type"] == name)
}
