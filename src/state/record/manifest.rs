//! The manifest and the part of the CloudProfile in the record.

use crate::model::{CloudProfile, Shoot, Version};
use crate::state::json::to_sparse_json;
use crate::validate::ValidShoot;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;

/// Keys of the ConfigMap.
pub(crate) const SHOOT: &str = "shoot.yaml";
pub(crate) const PROFILE: &str = "cloudprofile.yaml";

/// The part of the CloudProfile that this shoot uses: enough to update and delete it without the file.
///
/// All volume types belong to it: each of them is a StorageClass in the shoot, whether or not a pool uses it. Newer versions
/// of images belong to it: updates choose among them.
pub(crate) fn used_part(profile: &CloudProfile, shoot: &ValidShoot) -> CloudProfile {
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
        let name = &image.name;
        let versions = &mut image.versions;
        versions.retain(|it| is_needed(shoot, name, &it.version));
    }
    spec.machine_images.retain(|it| !it.versions.is_empty());
    let config = &mut spec.provider_config;
    config
        .machine_types
        .retain(|it| types.contains(it.name.as_str()));
    for image in &mut config.machine_images {
        let name = &image.name;
        let versions = &mut image.versions;
        versions.retain(|it| is_needed(shoot, name, &it.version));
    }
    config.machine_images.retain(|it| !it.versions.is_empty());
    used
}

/// True if a pool has this version of an image or an older one.
fn is_needed(shoot: &ValidShoot, image: &str, version: &str) -> bool {
    let mut pools = shoot.pools.iter().filter(|it| it.image.name == image);
    let parsed = Version::parse(version);
    pools.any(|it| {
        it.image.version == version
            || parsed
                .as_ref()
                .zip(Version::parse(&it.image.version).as_ref())
                .is_some_and(|(new, old)| new > old)
    })
}

/// The manifest as applied, for comparison with the applied one.
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
