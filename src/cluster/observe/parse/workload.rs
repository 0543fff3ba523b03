//! Facts that follow from an object alone: what a Service has for addresses, how far a workload is. Pure.

use crate::cluster::client::service::service;
use crate::cluster::json::{items, text};
use crate::cluster::observe::parse::types::Node;
use crate::state::facts::{Certificate, Fact, Rollout, Secret};
use crate::state::hash::Hash;
use crate::state::key::Kind;
use crate::state::names;
use serde_json::Value;
use std::sync::Arc;

/// Taints that keep pods off a node that says that it is ready, and what takes them away.
const PASSING: [(&str, &str); 2] = [
    (
        "node.cloudprovider.kubernetes.io/uninitialized",
        "the cloud controller manager to know it",
    ),
    (
        "node.kubernetes.io/not-ready",
        "the controller manager to let pods onto it",
    ),
];

/// None for kinds that tell nothing beyond being there.
pub(crate) fn fact(kind: Kind, object: &Value) -> Option<Fact> {
    Some(match kind {
        Kind::Secret => Fact::Secret(secret(object)),
        Kind::Service => Fact::Service(service(object)),
        Kind::Deployment | Kind::StatefulSet => Fact::Rollout(replicas(object)),
        Kind::DaemonSet => Fact::Rollout(daemons(object)),
        Kind::ApiService => Fact::Answer(answer(object)),
        _ => return None,
    })
}

/// What stands on a Secret of keys: what is in it is not looked at.
fn secret(object: &Value) -> Secret {
    let annotations = &object["metadata"]["annotations"];
    let hash = |key: &str| Hash::parse(text(&annotations[key])).unwrap_or_default();
    let number = |key: &str| text(&annotations[key]).parse::<i64>().ok();
    let certificate = number(names::NOT_AFTER).map(|expires| Certificate {
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
    Secret {
        checksum: hash(names::CHECKSUM),
        certificate,
        ca: annotations[names::CERTIFICATE_AUTHORITY]
            .as_str()
            .map(Arc::from),
    }
}

/// What a Deployment or a StatefulSet misses.
fn replicas(object: &Value) -> Rollout {
    let status = &object["status"];
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    missing(
        object,
        wanted,
        count("updatedReplicas"),
        count("availableReplicas"),
        count("replicas"),
    )
}

/// What a DaemonSet misses. Without nodes nothing is wanted of it.
fn daemons(object: &Value) -> Rollout {
    let status = &object["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    let wanted = count("desiredNumberScheduled");
    missing(
        object,
        wanted,
        count("updatedNumberScheduled"),
        count("numberAvailable"),
        wanted,
    )
}

fn missing(object: &Value, wanted: i64, updated: i64, available: i64, all: i64) -> Rollout {
    let generation = object["metadata"]["generation"].as_i64();
    let observed = object["status"]["observedGeneration"].as_i64();
    let why = if generation > observed {
        Some("its controller to look at it".to_owned())
    } else if updated < wanted {
        Some(format!("{updated} of {wanted} pods are up to date"))
    } else if all > updated {
        Some("its old pods to go".to_owned())
    } else if available < wanted {
        Some(format!("{available} of {wanted} pods are available"))
    } else {
        None
    };
    Rollout {
        why: why.map(Arc::from),
        available,
    }
}

fn answer(object: &Value) -> Option<Arc<str>> {
    let condition = condition(object, "Available");
    match condition.filter(|it| it["status"] == "True") {
        Some(_) => None,
        None => Some(condition.map_or_else(
            || "it has not been tried yet".into(),
            |it| Arc::from(text(&it["message"])),
        )),
    }
}

pub(crate) fn node(object: &Value) -> Node {
    let ready = condition(object, "Ready");
    let taints = items(&object["spec"]["taints"]);
    let why = match ready.filter(|it| it["status"] == "True") {
        None => Some(ready.map_or_else(
            || "it has not said that it is ready".into(),
            |it| Arc::from(text(&it["message"])),
        )),
        Some(_) => {
            let stands = |key: &str| taints.iter().any(|it| it["key"] == key);
            let passing = PASSING.iter().find(|it| stands(it.0));
            passing.map(|it| it.1.into())
        }
    };
    let provider = text(&object["spec"]["providerID"]);
    Node {
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
