//! The record: the ConfigMap that represents a shoot and owns all its other objects.

use super::desired;
use crate::model::{CloudProfile, Shoot};
use crate::state::action::{Desired, Payload};
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::json::to_sparse_json;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::validate::ValidShoot;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Keys of the ConfigMap.
pub(crate) const SHOOT: &str = "shoot.yaml";
pub(crate) const PROFILE: &str = "cloudprofile.yaml";
pub(crate) const SIZES: &str = "sizes.json";
/// ClusterIP of the API server's Service, which is configured on every node.
pub(crate) const CLUSTER_IP: &str = "cluster-ip";
/// Expiry of the shoot, as in the manifest applied last.
pub(crate) const EXPIRY: &str = "expires";
pub(crate) const LAST_OPERATION: &str = "last-operation.json";
pub(crate) const HISTORY: &str = "history.json";

/// Result of the last run that changed something, as Gardener's `lastOperation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operation {
    /// Create, Reconcile or Delete.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Processing, Succeeded, Error or Aborted.
    pub(crate) state: String,
    /// 0 to 100.
    pub(crate) progress: u8,
    pub(crate) description: String,
    /// RFC 3339.
    pub(crate) last_update_time: String,
    #[serde(default)]
    pub(crate) last_errors: Vec<LastError>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastError {
    pub(crate) description: String,
    #[serde(rename = "taskID")]
    pub(crate) task_id: String,
    pub(crate) codes: Vec<String>,
}

/// One run that changed something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunRecord {
    pub(crate) id: String,
    pub(crate) verb: String,
    pub(crate) started: String,
    pub(crate) seconds: u64,
    pub(crate) result: String,
}

pub(crate) fn wanted(shoot: &ValidShoot, facts: &Facts) -> Desired {
    let content = (
        manifest_of(&shoot.manifest),
        written(&used_part(&shoot.profile, shoot)),
        sizes(shoot, facts),
    );
    Desired {
        key: ObjectKey::provider(ObjectKind::Record, shoot.id.as_str()),
        hash: Hash::of(&content),
        payload: Payload::Plain,
    }
}

pub(crate) fn sizes(shoot: &ValidShoot, facts: &Facts) -> BTreeMap<String, usize> {
    shoot
        .pools
        .iter()
        .map(|it| (it.name.clone(), desired::size(facts, it)))
        .collect()
}

/// The part of the CloudProfile that this shoot uses: enough to update and delete it without the file.
///
/// All volume types belong to it: each of them is a StorageClass in the shoot, whether or not a pool uses it.
pub(crate) fn used_part(profile: &CloudProfile, shoot: &ValidShoot) -> CloudProfile {
    let images: HashSet<(&str, &str)> = shoot
        .pools
        .iter()
        .map(|it| (it.image.name.as_str(), it.image.version.as_str()))
        .collect();
    let types: HashSet<&str> = shoot
        .pools
        .iter()
        .map(|it| it.machine_type.name.as_str())
        .collect();
    let mut used = profile.clone();
    let spec = &mut used.spec;
    spec.machine_types
        .retain(|it| types.contains(it.name.as_str()));
    spec.regions.retain(|it| it.name == shoot.region);
    for image in &mut spec.machine_images {
        image
            .versions
            .retain(|it| images.contains(&(image.name.as_str(), it.version.as_str())));
    }
    spec.machine_images.retain(|it| !it.versions.is_empty());
    let config = &mut spec.provider_config;
    config
        .machine_types
        .retain(|it| types.contains(it.name.as_str()));
    for image in &mut config.machine_images {
        image
            .versions
            .retain(|it| images.contains(&(image.name.as_str(), it.version.as_str())));
    }
    config.machine_images.retain(|it| !it.versions.is_empty());
    used
}

/// The manifest as stored in the record, for comparison with the applied one.
pub(crate) fn manifest_of(shoot: &Shoot) -> Value {
    written(shoot)
}

/// Maps that mean nothing when empty, and switches that are off by default.
const MAPS: [&str; 3] = ["labels", "annotations", "featureGates"];

const SWITCHES: [&str; 8] = [
    "default",
    "blockMultiQueue",
    "networkInterfaceMultiqueue",
    "networkInterfaceMultiQueue",
    "disablePreAllocatedDataVolumes",
    "disableDefaultInstanceTypes",
    "disableDefaultPreferences",
    "overcommitGuestOverhead",
];

/// JSON without defaults, as a person would write it.
pub(crate) fn written(value: &impl Serialize) -> Value {
    let mut value = to_sparse_json(value);
    without_defaults(&mut value);
    value
}

fn without_defaults(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_defaults);
            fields.retain(|key, field| match field {
                Value::Object(map) => !map.is_empty() || !MAPS.contains(&key.as_str()),
                Value::Bool(false) => !SWITCHES.contains(&key.as_str()),
                _ => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(without_defaults),
        _ => {}
    }
}
