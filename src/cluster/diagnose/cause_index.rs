//! Index of the objects that may explain why something is not ready.
//!
//! A machine waits for its volumes, a volume for its importer pod and its PersistentVolumeClaim, a claim for its
//! StorageClass; then the machine's pod waits for the scheduler. A workload waits for its pods. The root cause is shown
//! last, with its own message.

use crate::cluster::json::{arc, items, text};
use crate::state::facts::StorageClass;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// By name.
pub(crate) type StorageClasses = BTreeMap<Arc<str>, StorageClass>;

/// Objects related to machines, images and workloads, as listed.
#[derive(Debug, Default)]
pub(crate) struct ListedObjects {
    pub(crate) instances: Vec<Value>,
    pub(crate) volumes: Vec<Value>,
    pub(crate) pods: Vec<Value>,
    pub(crate) claims: Vec<Value>,
    /// Warnings of the namespace.
    pub(crate) events: Vec<Value>,
}

/// The same objects, indexed by owner.
#[derive(Debug, Default)]
pub(crate) struct CauseIndex {
    pub(super) instances: HashMap<Arc<str>, Value>,
    pub(super) volumes: HashMap<Arc<str>, Value>,
    /// Names of DataVolumes by the name of their VM.
    pub(super) volumes_of: HashMap<Arc<str>, Vec<Arc<str>>>,
    pub(super) claims: HashMap<Arc<str>, Value>,
    /// By kind and name of the owner.
    pub(super) pods: HashMap<(Arc<str>, Arc<str>), Vec<Value>>,
    /// The latest warning by kind and name of the involved object.
    pub(super) warnings: HashMap<(Arc<str>, Arc<str>), Value>,
}

impl CauseIndex {
    pub(crate) fn new(objects: ListedObjects) -> CauseIndex {
        let mut around = CauseIndex {
            instances: by_name(objects.instances),
            claims: by_name(objects.claims),
            ..CauseIndex::default()
        };
        for volume in &objects.volumes {
            for (kind, owner) in owners(volume) {
                if &*kind == "VirtualMachine" {
                    let of = around.volumes_of.entry(owner).or_default();
                    of.push(arc(&volume["metadata"]["name"]));
                }
            }
        }
        around.volumes = by_name(objects.volumes);
        for pod in objects.pods {
            for owner in owners(&pod) {
                around.pods.entry(owner).or_default().push(pod.clone());
            }
        }
        for event in objects.events {
            let about = &event["involvedObject"];
            let about = (arc(&about["kind"]), arc(&about["name"]));
            let newest = around.warnings.entry(about).or_default();
            if newest.is_null() || timestamp(newest) <= timestamp(&event) {
                *newest = event;
            }
        }
        around
    }

    pub(super) fn pods_of(&self, kind: &str, name: &str) -> &[Value] {
        let owner = (kind.into(), name.into());
        self.pods.get(&owner).map_or(&[], Vec::as_slice)
    }

    pub(super) fn warning(&self, kind: &str, name: &str) -> Option<&Value> {
        let about = (kind.into(), name.into());
        self.warnings.get(&about)
    }
}

fn by_name(objects: Vec<Value>) -> HashMap<Arc<str>, Value> {
    let named = objects.into_iter();
    named.map(|it| (arc(&it["metadata"]["name"]), it)).collect()
}

pub(super) fn event_message(event: &Value) -> Option<String> {
    let message = single_line(text(&event["message"]));
    let message = message.trim_start_matches("(combined from similar events): ");
    (!message.is_empty()).then(|| message.to_owned())
}

/// Message of a condition with status False.
pub(super) fn failed_condition(object: &Value, name: &str) -> Option<String> {
    let condition = items(&object["status"]["conditions"])
        .iter()
        .find(|it| it["type"] == name && it["status"] == "False")?;
    let message = single_line(text(&condition["message"]));
    (!message.is_empty()).then_some(message)
}

fn owners(object: &Value) -> Vec<(Arc<str>, Arc<str>)> {
    items(&object["metadata"]["ownerReferences"])
        .iter()
        .map(|it| (arc(&it["kind"]), arc(&it["name"])))
        .collect()
}

/// Timestamps of one format sort as text.
pub(super) fn timestamp(event: &Value) -> &str {
    [
        &event["lastTimestamp"],
        &event["metadata"]["creationTimestamp"],
    ]
    .into_iter()
    .find_map(Value::as_str)
    .unwrap_or_default()
}

pub(super) fn single_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    without_pod_name(&text).unwrap_or(text)
}

/// Drops the name of a rejected pod: each attempt has another one, and the pod never existed.
fn without_pod_name(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("pods \"")?;
    let (name, after) = rest.split_once('"')?;
    let is_refused = after.starts_with(" is forbidden") && !name.contains(' ');
    is_refused.then(|| format!("{before}pod{after}"))
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
