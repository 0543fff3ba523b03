//! Preallocated disks: imported once and cloned by machines (custom local disks in Kubermatic).

use std::collections::HashMap;

use crate::model::{FindingKind, PreAllocatedDataVolume, RootDisk};
use crate::validate::context::Input;
use crate::validate::image_source::{self, ImageSource};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::valid_shoot::{PreAllocatedVolume, VolumeApi, VolumeSpec};

/// Maximum length of a disk name, so that DataVolume names fit.
const MAX_NAME: usize = 30;

pub(crate) fn check(
    input: &Input,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Vec<PreAllocatedVolume> {
    let disks = declared(input);
    let at = &at.key("preAllocatedDataVolumes");
    let mut known = HashMap::new();
    let mut valid = Vec::with_capacity(disks.len());
    for (i, disk) in disks.iter().enumerate() {
        let here = &at.index(i);
        let codes = ("disk/name", "disk/name-too-long");
        names::check_dns_label(&here.key("name"), &disk.name, MAX_NAME, codes, report);
        if let Some(first) = known
            .insert(disk.name.as_str(), i)
            .filter(|_| !disk.name.is_empty())
        {
            let message = format!("duplicate disk {:?}", disk.name);
            report
                .error(
                    &here.key("name"),
                    FindingKind::Duplicate,
                    "disk/duplicate",
                    message,
                )
                .see(&at.index(first).key("name"), "first defined here");
        }
        if disk.size.value <= 0.0 && !disk.size.text().is_empty() {
            let message = format!("must be greater than 0 (is {})", disk.size);
            report.error(
                &here.key("size"),
                FindingKind::Invalid,
                "disk/size",
                message,
            );
        }
        if !disk.storage_class.is_empty() && !names::is_dns_subdomain(&disk.storage_class) {
            let message = format!("{:?} is not a valid object name", disk.storage_class);
            let at = &here.key("storageClass");
            report
                .error(at, FindingKind::Invalid, "disk/storage-class", message)
                .hint(names::DNS_LABEL);
        }
        names::check_annotations(&here.key("annotations"), &disk.annotations, report);
        valid.extend(source(disk, here, report).map(|source| PreAllocatedVolume {
            name: disk.name.clone(),
            source,
            volume: VolumeSpec {
                type_: String::new(),
                class: disk.storage_class.clone(),
                size: disk.size.clone(),
                api: VolumeApi::default(),
            },
            annotations: disk.annotations.clone(),
        }));
    }
    valid
}

/// Resolves the source: HTTP or a registry.
fn source(
    disk: &PreAllocatedDataVolume,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<ImageSource> {
    let root = RootDisk {
        os_image: Some(disk.url.clone()),
        ..RootDisk::default()
    };
    match image_source::of_root_disk(&root) {
        Some(source @ (ImageSource::Http { .. } | ImageSource::Registry { .. })) => Some(source),
        _ if disk.url.is_empty() => None,
        _ => {
            let message = format!("{:?} is not a valid image URL", disk.url);
            report
                .error(&at.key("url"), FindingKind::Invalid, "disk/url", message)
                .hint("use https://… or docker://…");
            None
        }
    }
}

fn declared<'a>(input: &Input<'a>) -> &'a [PreAllocatedDataVolume] {
    let config = input.shoot.spec.provider.infrastructure_config.as_ref();
    config.map_or(&[], |it| &it.pre_allocated_data_volumes)
}

/// The preallocated disk of that name.
pub(crate) fn named<'a>(input: &Input<'a>, name: &str) -> Option<&'a PreAllocatedDataVolume> {
    declared(input).iter().find(|it| it.name == name)
}
