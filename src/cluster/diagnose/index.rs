//! Why something is not ready: the deepest object in the chain that has something to say. Pure.
//!
//! A machine waits for its volumes, a volume for its importer pod and its claim, a claim for its class; and then the
//! machine's own pod waits for the scheduler. A workload waits for its pods. What is deepest is told last, in the words
//! that stand on it.

use crate::cluster::json::{arc, items, text};
use crate::state::facts::StorageClass;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// By name.
pub(crate) type Classes = BTreeMap<Arc<str>, StorageClass>;

/// What there is around machines, images and workloads, as it was listed.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) instances: Vec<Value>,
    pub(crate) volumes: Vec<Value>,
    pub(crate) pods: Vec<Value>,
    pub(crate) claims: Vec<Value>,
    /// Warnings of the whole namespace.
    pub(crate) events: Vec<Value>,
}

/// The same by what it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Around {
    pub(super) instances: HashMap<Arc<str>, Value>,
    pub(super) volumes: HashMap<Arc<str>, Value>,
    /// Names of DataVolumes by that of their VM.
    pub(super) volumes_of: HashMap<Arc<str>, Vec<Arc<str>>>,
    pub(super) claims: HashMap<Arc<str>, Value>,
    /// By kind and name of the owner.
    pub(super) pods: HashMap<(Arc<str>, Arc<str>), Vec<Value>>,
    /// The newest warning, by kind and name of what it is about.
    pub(super) warnings: HashMap<(Arc<str>, Arc<str>), Value>,
}

impl Around {
    pub(crate) fn new(objects: Objects) -> Around {
        let mut around = Around {
            instances: by_name(objects.instances),
            claims: by_name(objects.claims),
            ..Around::default()
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
            if newest.is_null() || when(newest) <= when(&event) {
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

pub(super) fn message(event: &Value) -> Option<String> {
    let message = plain(text(&event["message"]));
    let message = message.trim_start_matches("(combined from similar events): ");
    (!message.is_empty()).then(|| message.to_owned())
}

/// The message of a condition that does not hold.
pub(super) fn condition(object: &Value, name: &str) -> Option<String> {
    let condition = items(&object["status"]["conditions"])
        .iter()
        .find(|it| it["type"] == name && it["status"] == "False")?;
    let message = plain(text(&condition["message"]));
    (!message.is_empty()).then_some(message)
}

fn owners(object: &Value) -> Vec<(Arc<str>, Arc<str>)> {
    items(&object["metadata"]["ownerReferences"])
        .iter()
        .map(|it| (arc(&it["kind"]), arc(&it["name"])))
        .collect()
}

/// Timestamps of one format sort as text.
pub(super) fn when(event: &Value) -> &str {
    [
        &event["lastTimestamp"],
        &event["metadata"]["creationTimestamp"],
    ]
    .into_iter()
    .find_map(Value::as_str)
    .unwrap_or_default()
}

pub(super) fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    unnamed(&text).unwrap_or(text)
}

/// A pod that is refused has another name at each try, and nobody has seen any of them.
fn unnamed(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("pods \"")?;
    let (name, after) = rest.split_once('"')?;
    let is_refused = after.starts_with(" is forbidden") && !name.contains(' ');
    is_refused.then(|| format!("{before}pod{after}"))
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
