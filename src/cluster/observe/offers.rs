//! Offers of the provider cluster: its StorageClasses, and its nodes by zone.

use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::storage::PartialStorageClass;
use crate::state::facts::{OfferedStorageClass, StorageClass, ZoneHosts};
use crate::state::names;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn storage_class(class: &PartialStorageClass) -> (Arc<str>, StorageClass) {
    let offered = StorageClass {
        zonal: class.is_zonal(),
        offered: class_offer(class),
    };
    (class.metadata.name.as_str().into(), offered)
}

/// As in Kubermatic: by an annotation, with the settings of the class itself.
fn class_offer(class: &PartialStorageClass) -> Option<OfferedStorageClass> {
    let is_set = |annotation: &str| class.metadata.annotation(annotation) == Some("true");
    is_set(names::INITIALIZE_CLASS).then(|| OfferedStorageClass {
        is_default: is_set(names::DEFAULT_CLASS),
        binding_mode: class.volume_binding_mode.as_str().into(),
        reclaim_policy: class.reclaim_policy.as_str().into(),
        expandable: class.allow_volume_expansion,
    })
}

pub(crate) fn hosts_by_zone(nodes: &[PartialObject]) -> BTreeMap<Arc<str>, ZoneHosts> {
    let mut zones: BTreeMap<Arc<str>, [Vec<Arc<str>>; 2]> = BTreeMap::new();
    for PartialObject { metadata } in nodes {
        let control_plane = metadata.label("node-role.kubernetes.io/control-plane");
        let zone = metadata.label(names::ZONE_LABEL).unwrap_or_default();
        let zone = zones.entry(zone.into()).or_default();
        zone[usize::from(control_plane.is_some())].push(metadata.name.as_str().into());
    }
    let hosts = |[workers, masters]: [Vec<Arc<str>>; 2]| {
        let hosts = if workers.is_empty() { masters } else { workers };
        ZoneHosts {
            first: hosts.iter().min().cloned().unwrap_or_default(),
            count: hosts.len(),
        }
    };
    zones
        .into_iter()
        .map(|(zone, nodes)| (zone, hosts(nodes)))
        .collect()
}
