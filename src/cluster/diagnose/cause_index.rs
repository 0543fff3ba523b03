//! Index of the objects that may explain why something is not ready.
//!
//! A machine waits for its volumes, a volume for its importer pod and its PersistentVolumeClaim, a claim for its
//! StorageClass; then the machine's pod waits for the scheduler. A workload waits for its pods. The root cause is shown
//! last, with its own message.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::core::event::PartialEvent;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::kubevirt::data_volume::PartialDataVolume;
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::metadata::PartialObjectMeta;
use crate::cluster::objects::storage::PartialClaim;
use crate::state::facts::StorageClass;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// By name.
pub(crate) type StorageClasses = BTreeMap<Arc<str>, StorageClass>;

/// Objects related to machines, images and workloads, as listed.
#[derive(Debug, Default)]
pub(crate) struct ListedObjects {
    pub(crate) instances: Vec<PartialVirtualMachineInstance>,
    pub(crate) volumes: Vec<PartialDataVolume>,
    pub(crate) pods: Vec<PartialPod>,
    pub(crate) claims: Vec<PartialClaim>,
    /// Warnings of the namespace.
    pub(crate) events: Vec<PartialEvent>,
}

/// The same objects, indexed by owner.
#[derive(Debug, Default)]
pub(crate) struct CauseIndex {
    pub(super) instances: HashMap<String, PartialVirtualMachineInstance>,
    pub(super) volumes: HashMap<String, PartialDataVolume>,
    /// Names of DataVolumes by the name of their VM.
    pub(super) volumes_of: HashMap<String, Vec<String>>,
    pub(super) claims: HashMap<String, PartialClaim>,
    /// By kind and name of the owner.
    pub(super) pods: HashMap<(String, String), Vec<PartialPod>>,
    /// The latest warning by kind and name of the involved object.
    pub(super) warnings: HashMap<(String, String), PartialEvent>,
}

impl CauseIndex {
    pub(crate) fn new(objects: ListedObjects) -> CauseIndex {
        let mut around = CauseIndex {
            instances: by_name(objects.instances, |it| &it.metadata),
            claims: by_name(objects.claims, |it| &it.metadata),
            ..CauseIndex::default()
        };
        for volume in &objects.volumes {
            for (kind, owner) in owners(&volume.metadata) {
                if kind == "VirtualMachine" {
                    let of = around.volumes_of.entry(owner).or_default();
                    of.push(volume.metadata.name.clone());
                }
            }
        }
        around.volumes = by_name(objects.volumes, |it| &it.metadata);
        for pod in objects.pods {
            for owner in owners(&pod.metadata) {
                around.pods.entry(owner).or_default().push(pod.clone());
            }
        }
        for event in objects.events {
            let about = &event.involved_object;
            let about = (about.kind.clone(), about.name.clone());
            let newest = around.warnings.get(&about);
            if newest.is_none_or(|it| it.timestamp() <= event.timestamp()) {
                around.warnings.insert(about, event);
            }
        }
        around
    }

    pub(super) fn pods_of(&self, kind: &str, name: &str) -> &[PartialPod] {
        let owner = (kind.into(), name.into());
        self.pods.get(&owner).map_or(&[], Vec::as_slice)
    }

    pub(super) fn warning(&self, kind: &str, name: &str) -> Option<&PartialEvent> {
        let about = (kind.into(), name.into());
        self.warnings.get(&about)
    }
}

fn by_name<T>(objects: Vec<T>, metadata: fn(&T) -> &PartialObjectMeta) -> HashMap<String, T> {
    let named = objects.into_iter();
    named.map(|it| (metadata(&it).name.clone(), it)).collect()
}

pub(super) fn event_message(event: &PartialEvent) -> Option<String> {
    let message = single_line(&event.message);
    let message = message.trim_start_matches("(combined from similar events): ");
    (!message.is_empty()).then(|| message.to_owned())
}

/// Message of a condition with status False.
pub(super) fn failed_condition(conditions: &[PartialCondition], kind: &str) -> Option<String> {
    let condition = PartialCondition::find(conditions, kind).filter(|it| it.is_false())?;
    let message = single_line(&condition.message);
    (!message.is_empty()).then_some(message)
}

/// Kinds and names.
fn owners(metadata: &PartialObjectMeta) -> Vec<(String, String)> {
    let owners = metadata.owner_references.iter();
    owners
        .map(|it| (it.kind.clone(), it.name.clone()))
        .collect()
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
