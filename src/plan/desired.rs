//! What a valid shoot comes to in this provider cluster: hashes, names, sizes and who uses what.

use super::object::given;
use super::observed::Facts;
use super::{Hash, image, names};
use crate::model::Quantity;
use crate::validate::{Claiming, LocalDisk, Network, Pool, Source, ValidShoot, Volume};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Changes when the user data of every machine has to be made anew.
const USER_DATA_GENERATION: u32 = 2;

/// A network as machines are attached to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attachment {
    /// `namespace/name` of the NetworkAttachmentDefinition.
    pub(crate) reference: Arc<str>,
    pub(crate) default: bool,
    /// Of its configuration; zero while that is not known.
    pub(crate) hash: Hash,
}

/// A golden volume: one import, cloned by every machine of the same image, size and class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Golden {
    pub(crate) name: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) image: String,
    pub(crate) version: String,
    pub(crate) source: Source,
    pub(crate) volume: Volume,
    /// Those that somebody asks for.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Set when volumes of the class belong to a zone.
    pub(crate) zone: Option<String>,
}

pub(crate) fn attachments(shoot: &ValidShoot, facts: &Facts) -> Vec<Attachment> {
    shoot
        .networks
        .iter()
        .map(|it| attachment(shoot, facts, it))
        .collect()
}

fn attachment(shoot: &ValidShoot, facts: &Facts, network: &Network) -> Attachment {
    match network {
        Network::Tenant {
            name,
            config,
            default,
        } => {
            let name = names::tenant_network(&shoot.id, name);
            Attachment {
                reference: format!("{}/{name}", facts.namespace).into(),
                default: *default,
                hash: config_hash(config),
            }
        }
        Network::Shared { name, namespace } => {
            let reference: Arc<str> = format!(
                "{}/{name}",
                namespace.as_deref().unwrap_or(&facts.namespace)
            )
            .into();
            let config = facts
                .shared
                .get(&reference)
                .and_then(Option::as_deref)
                .map(config_hash)
                .unwrap_or_default();
            // The same name in another namespace is another network, even of the same configuration.
            let elsewhere = namespace.as_deref().filter(|it| **it != *facts.namespace);
            let hash = elsewhere.map_or(config, |it| Hash::of(&(it, config.to_string())));
            Attachment {
                reference,
                default: false,
                hash,
            }
        }
    }
}

/// Two texts that are the same JSON are the same network.
pub(crate) fn config_hash(config: &str) -> Hash {
    match serde_json::from_str::<Value>(config) {
        Ok(value) => Hash::of(&value),
        Err(_) => Hash::of(&config),
    }
}

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
        "worker": super::worker_config::canonical(&pool.worker),
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

fn volume(volume: &Volume) -> Value {
    let mut parts = vec![
        json!(volume.type_),
        json!(volume.class),
        json!(volume.size.value),
    ];
    if volume.claiming != Claiming::default() {
        parts.push(image::claim(volume));
    }
    Value::Array(parts)
}

/// The golden volume for machines of one zone, unless each imports by itself.
pub(crate) fn golden(
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &Pool,
    zone: usize,
) -> Option<Golden> {
    if let Source::Own(name) = &pool.image.source {
        let disk = shoot.disks.iter().find(|it| it.name == *name)?;
        let zone = is_zonal(facts, &disk.volume).then(|| pool.zones[zone].clone());
        return Some(local(shoot, disk, zone));
    }
    let is_cloned = matches!(pool.image.source, Source::Claim { .. });
    if pool.worker.disable_pre_allocated_data_volumes || is_cloned {
        return None;
    }
    let zone = is_zonal(facts, &pool.root).then(|| pool.zones[zone].clone());
    let image = &pool.image;
    let mut parts = vec![
        image::hashed(&image.source),
        json!(pool.root.size.value),
        json!(pool.root.class),
        json!(zone),
    ];
    if pool.root.claiming != Claiming::default() {
        parts.push(image::claim(&pool.root));
    }
    let hash = Hash::of(&parts);
    Some(Golden {
        name: names::golden_volume(&shoot.id, &image.name, &image.version, hash).into(),
        hash,
        image: image.name.clone(),
        version: image.version.clone(),
        source: image.source.clone(),
        volume: pool.root.clone(),
        annotations: BTreeMap::new(),
        zone,
    })
}

/// The shoot's own disks that belong to no zone: they are there whether a pool clones them or not.
pub(crate) fn disks(shoot: &ValidShoot, facts: &Facts) -> Vec<Golden> {
    let disks = shoot.disks.iter();
    let everywhere = disks.filter(|it| !is_zonal(facts, &it.volume));
    everywhere.map(|it| local(shoot, it, None)).collect()
}

fn local(shoot: &ValidShoot, disk: &LocalDisk, zone: Option<String>) -> Golden {
    let hash = Hash::of(&json!([content(disk), zone]));
    Golden {
        name: names::golden_volume(&shoot.id, &disk.name, "", hash).into(),
        hash,
        image: disk.name.clone(),
        version: String::new(),
        source: disk.source.clone(),
        volume: disk.volume.clone(),
        annotations: disk.annotations.clone(),
        zone,
    }
}

/// What decides the content of a disk.
fn content(disk: &LocalDisk) -> Value {
    json!([
        image::hashed(&disk.source),
        disk.volume.size.value,
        disk.volume.class,
        disk.annotations
    ])
}

/// What rolls a pool of what its root disk comes from.
fn source(shoot: &ValidShoot, source: &Source) -> Value {
    let disk = |name: &String| shoot.disks.iter().find(|it| it.name == *name);
    match source {
        Source::Own(name) => json!([name, disk(name).map(content)]),
        other => image::hashed(other),
    }
}

fn is_zonal(facts: &Facts, volume: &Volume) -> bool {
    let class = facts.classes.get(volume.class.as_str());
    class.is_some_and(|it| it.zonal)
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
