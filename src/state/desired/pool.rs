//! Pools: size, and what rolls them.

use super::volumes;
use crate::model::Quantity;
use crate::state::desired::image_volumes::content;
use crate::state::desired::networks::Attachment;
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::json::given;
use crate::validate::{Claiming, Pool, Source, ValidShoot, Volume};
use serde_json::{Value, json};

/// Changes when the user data of every machine has to be made anew.
const USER_DATA_GENERATION: u32 = 2;

/// What rolls a pool: everything that a machine cannot change while it lives.
pub(crate) fn pool_hash(shoot: &ValidShoot, pool: &Pool, attachments: &[Attachment]) -> Hash {
    let networks: Vec<Value> = attachments
        .iter()
        .map(|it| {
            json!([
                it.reference.split('/').next_back(),
                it.default,
                it.hash.to_string()
            ])
        })
        .collect();
    let kind = &pool.machine_type;
    let limit = |it: &Option<Quantity>| it.as_ref().map(|it| it.value);
    let data: Vec<Value> = pool
        .data
        .iter()
        .map(|it| json!([it.name, volume(&it.volume)]))
        .collect();
    Hash::of(&json!({
        "kubernetes": shoot.kubernetes,
        "machineType": [kind.name, kind.cpu.value, kind.memory.value, limit(&kind.cpu_limit), limit(&kind.memory_limit)],
        "image": [json!(pool.image.name), json!(pool.image.version), source(shoot, &pool.image.source)],
        "root": volume(&pool.root),
        "data": data,
        "worker": crate::state::desired::worker_config::canonical(&pool.worker),
        "networks": networks,
        "cri": pool.cri,
        "kubelet": pool.kubelet.as_ref().map(given),
        "caBundle": pool.ca_bundle,
        "userData": [
            json!(USER_DATA_GENERATION),
            json!(shoot.networking.services),
            json!(shoot.networking.type_ == "none"),
            json!(shoot.control_plane.registry),
        ],
    }))
}

pub(crate) fn volume(volume: &Volume) -> Value {
    let mut parts = vec![
        json!(volume.type_),
        json!(volume.class),
        json!(volume.size.value),
    ];
    if volume.claiming != Claiming::default() {
        parts.push(volumes::claim(volume));
    }
    Value::Array(parts)
}

/// What rolls a pool of what its root disk comes from.
pub(crate) fn source(shoot: &ValidShoot, source: &Source) -> Value {
    let disk = |name: &String| shoot.disks.iter().find(|it| it.name == *name);
    match source {
        Source::Own(name) => json!([name, disk(name).map(content)]),
        other => volumes::hashed(other),
    }
}

/// How many machines a pool has: what was decided last, inside the bounds of today.
///
/// Counting the machines that are there would take a surge for a size.
pub(crate) fn size(facts: &Facts, pool: &Pool) -> usize {
    let decided = facts
        .record
        .as_ref()
        .and_then(|it| it.sizes.get(pool.name.as_str()));
    decided
        .copied()
        .unwrap_or(pool.minimum)
        .clamp(pool.minimum, pool.maximum.max(pool.minimum))
}

/// What changes in place, as it stands on a machine: canonical, so that texts can be compared.
pub(crate) fn pool_metadata(pool: &Pool) -> String {
    let taints: Vec<Value> = pool.taints.iter().map(given).collect();
    json!({ "labels": pool.labels, "annotations": pool.annotations, "taints": taints }).to_string()
}
