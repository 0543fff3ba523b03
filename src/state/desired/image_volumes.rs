//! Golden volumes: one for each image, size and class.

use super::volumes;
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::names;
use crate::validate::{
    ImageSource, PoolSpec, PreAllocatedVolume, ValidShoot, VolumeApi, VolumeSpec,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A golden volume: one import, cloned by every machine of the same image, size and class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImageVolume {
    pub(crate) name: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) image: String,
    pub(crate) version: String,
    pub(crate) source: ImageSource,
    pub(crate) volume: VolumeSpec,
    /// Annotations given in the manifest.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Set when volumes of the class belong to a zone.
    pub(crate) zone: Option<String>,
}

/// Golden volume for the machines of one zone. None if each machine imports its own.
pub(crate) fn image_volume(
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &PoolSpec,
    zone: usize,
) -> Option<ImageVolume> {
    if let ImageSource::Own(name) = &pool.image.source {
        let disk = shoot.disks.iter().find(|it| it.name == *name)?;
        let zone = is_zonal(facts, &disk.volume).then(|| pool.zones[zone].clone());
        return Some(local(shoot, disk, zone));
    }
    let is_cloned = matches!(pool.image.source, ImageSource::Claim { .. });
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
    if pool.root.api != VolumeApi::default() {
        parts.push(volumes::claim(&pool.root));
    }
    let hash = Hash::of(&parts);
    Some(ImageVolume {
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

/// Golden volumes of the shoot's own disks without a zone. They exist whether a pool clones them or not.
pub(crate) fn disks(shoot: &ValidShoot, facts: &Facts) -> Vec<ImageVolume> {
    let disks = shoot.disks.iter();
    let everywhere = disks.filter(|it| !is_zonal(facts, &it.volume));
    everywhere.map(|it| local(shoot, it, None)).collect()
}

fn local(shoot: &ValidShoot, disk: &PreAllocatedVolume, zone: Option<String>) -> ImageVolume {
    let hash = Hash::of(&json!([content(disk), zone]));
    ImageVolume {
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

/// Everything that determines the content of a disk.
pub(crate) fn content(disk: &PreAllocatedVolume) -> Value {
    json!([
        volumes::hashed(&disk.source),
        disk.volume.size.value,
        disk.volume.class,
        disk.annotations
    ])
}

fn is_zonal(facts: &Facts, volume: &VolumeSpec) -> bool {
    let class = facts.storage_classes.get(volume.class.as_str());
    class.is_some_and(|it| it.zonal)
}
