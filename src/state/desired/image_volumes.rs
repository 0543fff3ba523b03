//! Golden volumes: one for each image, size and class.

use super::volumes;
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::names;
use crate::validate::{Claiming, LocalDisk, Pool, Source, ValidShoot, Volume};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

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
        volumes::hashed(&image.source),
        json!(pool.root.size.value),
        json!(pool.root.class),
        json!(zone),
    ];
    if pool.root.claiming != Claiming::default() {
        parts.push(volumes::claim(&pool.root));
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
pub(crate) fn content(disk: &LocalDisk) -> Value {
    json!([
        volumes::hashed(&disk.source),
        disk.volume.size.value,
        disk.volume.class,
        disk.annotations
    ])
}

fn is_zonal(facts: &Facts, volume: &Volume) -> bool {
    let class = facts.classes.get(volume.class.as_str());
    class.is_some_and(|it| it.zonal)
}
