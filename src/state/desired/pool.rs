//! Size of a pool, and the hash that rolls it.

use super::pool_size::PoolSize;
use super::volumes;
use crate::model::Quantity;
use crate::state::desired::image_volumes::content;
use crate::state::desired::machine_content::{MachineContent, MachineRoots};
use crate::state::desired::networks::NetworkAttachment;
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::json::{set_if_some, to_sparse_json};
use crate::state::record::rotation::{KeyGeneration, RotationRecord};
use crate::validate::{ImageSource, PoolSpec, ValidShoot, VolumeApi, VolumeSpec};
use serde_json::{Value, json};

/// Increased when the user data of all machines changes.
const USER_DATA_GENERATION: u32 = 3;

/// The parts that a restart can change: the machine type, and of the disks their sizes.
const SIZE: &str = "machineType";
const ROOT: &str = "root";
const DATA: &str = "data";
/// The part that a timer in the machine can change.
const ROOTS: &str = "roots";

/// Words for the parts of [`pool_parts`].
const PARTS: [(&str, &str); 15] = [
    ("kubernetes", "Kubernetes version"),
    (SIZE, "machine type"),
    ("architecture", "architecture"),
    ("image", "image"),
    (ROOT, "root volume"),
    (DATA, "data volumes"),
    ("worker", "providerConfig"),
    ("networks", "networks"),
    ("cri", "container runtime"),
    ("kubelet", "settings of the kubelet"),
    ("kubeletVolume", "volume of the kubelet"),
    ("caBundle", "CA bundle"),
    ("nodeAddress", "address of the API server"),
    (ROOTS, "certificate authority"),
    ("userData", "networking or image registry"),
];

/// Hash of everything that cannot change on an existing machine. A new hash rolls the pool.
pub(crate) fn pool_hash(
    shoot: &ValidShoot,
    pool: &PoolSpec,
    attachments: &[NetworkAttachment],
    rotation: Option<&RotationRecord>,
) -> Hash {
    Hash::of(&pool_parts(shoot, pool, attachments, rotation))
}

/// Hashes and content of the machines of a pool.
#[derive(Debug, Clone)]
pub(crate) struct PoolHashes {
    /// That of [`pool_hash`].
    pub(crate) all: Hash,
    pub(crate) content: MachineContent,
}

impl PoolHashes {
    /// The hashes of a result of [`pool_parts`]. `is_in_place` is true for a pool whose machines take new CAs in place.
    pub(crate) fn of(mut parts: Value, is_in_place: bool) -> PoolHashes {
        let all = Hash::of_json(&parts);
        let size = Hash::of_json(&parts[SIZE].take());
        let data = parts[DATA].as_array_mut().map(Vec::as_mut_slice);
        let data = data.unwrap_or_default().iter_mut();
        let mut disks: Vec<u64> = data.map(|it| take_size(&mut it[1])).collect();
        disks.insert(0, take_size(&mut parts[ROOT]));
        PoolHashes {
            all,
            content: MachineContent {
                size,
                disks: disks.into(),
                fixed: Hash::of_json(&parts),
                roots: is_in_place.then(|| take_roots(&mut parts)),
            },
        }
    }
}

/// Removes the CAs from a result of [`pool_parts`].
fn take_roots(parts: &mut Value) -> MachineRoots {
    let roots = parts.as_object_mut().and_then(|it| it.remove(ROOTS));
    let trusted = match roots.as_ref().and_then(Value::as_str) {
        Some(trusted) => trusted.into(),
        None => KeyGeneration::default().to_string().into(),
    };
    MachineRoots {
        trusted,
        base: Hash::of_json(parts),
    }
}

/// Removes the size, in bytes, from a result of [`volume`].
fn take_size(volume: &mut Value) -> u64 {
    if let Some(claim) = volume.get_mut(3) {
        claim["resources"].take();
    }
    let size = volume.get_mut(2).map(Value::take);
    let size = size.and_then(|it| it.as_f64()).unwrap_or_default();
    // Larger and negative sizes are refused, and a claim has whole bytes.
    size.ceil() as u64
}

/// The hash of a pool's machines, and their content.
pub(crate) fn pool_hashes(
    shoot: &ValidShoot,
    pool: &PoolSpec,
    attachments: &[NetworkAttachment],
    rotation: Option<&RotationRecord>,
) -> PoolHashes {
    let parts = pool_parts(shoot, pool, attachments, rotation);
    PoolHashes::of(parts, pool.is_updated_in_place)
}

/// The hashes of the pool's machines before the present step of a rotation gave them other CAs.
pub(crate) fn former_pool_hashes(
    shoot: &ValidShoot,
    pool: &PoolSpec,
    attachments: &[NetworkAttachment],
    rotation: &RotationRecord,
) -> Option<PoolHashes> {
    let former = rotation.former_machine_roots()?;
    let mut parts = pool_parts(shoot, pool, attachments, None);
    set_roots(&mut parts, former);
    Some(PoolHashes::of(parts, pool.is_updated_in_place))
}

/// Words for what differs between two results of [`pool_parts`].
pub(crate) fn changed_parts(before: &Value, after: &Value) -> Vec<&'static str> {
    let changed = PARTS.iter().filter(|it| before[it.0] != after[it.0]);
    changed.map(|it| it.1).collect()
}

/// Everything that cannot change on an existing machine, by name.
pub(crate) fn pool_parts(
    shoot: &ValidShoot,
    pool: &PoolSpec,
    attachments: &[NetworkAttachment],
    rotation: Option<&RotationRecord>,
) -> Value {
    let networks: Vec<Value> = attachments
        .iter()
        .map(|attachment| {
            json!([
                attachment.reference.split('/').next_back(),
                attachment.default,
                attachment.hash.to_string()
            ])
        })
        .collect();
    let kind = &pool.machine_type;
    let limit = |limit: &Option<Quantity>| limit.as_ref().map(|it| it.value);
    let data: Vec<Value> = pool
        .data
        .iter()
        .map(|it| json!([it.name, volume(&it.volume)]))
        .collect();
    let mut parts = json!({
        "kubernetes": pool.kubernetes,
        SIZE: [kind.name, kind.cpu.value, kind.memory.value, limit(&kind.cpu_limit), limit(&kind.memory_limit)],
        "image": [json!(pool.image.name), json!(pool.image.version), source(shoot, &pool.image.source)],
        ROOT: volume(&pool.root),
        DATA: data,
        "worker": crate::state::desired::worker_config::canonical(&pool.worker),
        "networks": networks,
        "cri": pool.cri,
        "kubelet": pool.kubelet.as_ref().map(to_sparse_json),
        "caBundle": pool.ca_bundle,
        "userData": [
            json!(USER_DATA_GENERATION),
            json!(shoot.networking.services),
            json!(shoot.networking.type_ == "none"),
            json!(shoot.control_plane.registry),
        ],
    });
    // Only where it is set, since existing machines carry hashes without it.
    set_if_some(
        &mut parts,
        "architecture",
        pool.architecture.as_ref().map(|it| json!(it)),
    );
    set_if_some(
        &mut parts,
        "kubeletVolume",
        pool.kubelet_volume.as_ref().map(|it| json!(it)),
    );
    // Kubelets keep the address that they joined with. An address that is not in the manifest comes and goes, and an
    // exposure that provides it cannot be changed.
    let address = shoot.control_plane.node_address.as_ref();
    set_if_some(
        &mut parts,
        "nodeAddress",
        address.map(|it| json!(it.to_string())),
    );
    if let Some(rotation) = rotation {
        set_roots(&mut parts, rotation.machine_roots());
    }
    parts
}

/// Not for the first ones, since existing machines carry hashes without them.
fn set_roots(parts: &mut Value, roots: KeyGeneration) {
    let roots = Some(roots).filter(|it| !it.is_first());
    set_if_some(parts, ROOTS, roots.map(|it| json!(it.to_string())));
}

pub(crate) fn volume(volume: &VolumeSpec) -> Value {
    let mut parts = vec![
        json!(volume.type_),
        json!(volume.class),
        json!(volume.size.value),
    ];
    if volume.api != VolumeApi::default() {
        parts.push(volumes::claim(volume));
    }
    Value::Array(parts)
}

/// Part of a root disk's source that rolls a pool.
pub(crate) fn source(shoot: &ValidShoot, source: &ImageSource) -> Value {
    let disk = |name: &String| shoot.disks.iter().find(|it| it.name == *name);
    match source {
        ImageSource::Own(name) => json!([name, disk(name).map(content)]),
        other => volumes::hashed(other),
    }
}

/// For the root disk and each data volume of a pool, whether it can become larger: its StorageClass allows that, or cannot be
/// read.
pub(crate) fn expandable_disks(facts: &Facts, pool: &PoolSpec) -> Vec<bool> {
    let is_expandable = |it: &VolumeSpec| {
        let class = facts.storage_classes.get(it.class.as_str());
        class.is_none_or(|it| it.expandable)
    };
    let data = pool.data.iter().map(|it| &it.volume);
    [&pool.root]
        .into_iter()
        .chain(data)
        .map(is_expandable)
        .collect()
}

/// Words for the root disk and each data volume of a pool, with their sizes.
pub(crate) fn disks_in_words(pool: &PoolSpec) -> Vec<String> {
    let data = pool.data.iter();
    let data = data.map(|it| format!("volume {} of {}", it.name, it.volume.size));
    [format!("a root disk of {}", pool.root.size)]
        .into_iter()
        .chain(data)
        .collect()
}

/// Number of machines of a pool: the last decision, within today's minimum and maximum.
///
/// Counting existing machines would mistake a surge for the size.
pub(crate) fn size(facts: &Facts, pool: &PoolSpec) -> usize {
    pool_size(facts, pool).total()
}

/// The same, with the zones if machines were deleted by name.
pub(crate) fn pool_size(facts: &Facts, pool: &PoolSpec) -> PoolSize {
    let record = facts.record.as_ref();
    let decided = record.and_then(|it| it.sizes.get(pool.name.as_str()));
    PoolSize::within_bounds(decided, pool)
}

/// Number of machines of a pool in each of its zones.
pub(crate) fn zone_targets(facts: &Facts, pool: &PoolSpec) -> Vec<usize> {
    pool_size(facts, pool).zone_targets(&pool.zones)
}

/// Metadata of a pool that changes in place, as canonical JSON so that texts can be compared.
pub(crate) fn pool_metadata(pool: &PoolSpec) -> String {
    let taints: Vec<Value> = pool.taints.iter().map(to_sparse_json).collect();
    let mut metadata =
        json!({ "labels": pool.labels, "annotations": pool.annotations, "taints": taints });
    if !pool.system_components {
        metadata["systemComponents"] = json!(false);
    }
    metadata.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    #[test]
    fn every_part_of_a_machine_has_words() {
        let mut shoot = valid_for_tests(SHOOT);
        shoot.pools[0].architecture = Some("arm64".to_owned());
        shoot.pools[0].kubelet_volume = Some("data".to_owned());
        let parts = pool_parts(&shoot, &shoot.pools[0], &[], None);
        let parts = parts.as_object().expect("an object").keys();
        let named = PARTS.map(|it| it.0);
        let unnamed: Vec<_> = parts.filter(|it| !named.contains(&it.as_str())).collect();
        assert!(unnamed.is_empty(), "{unnamed:?}");
    }
}
