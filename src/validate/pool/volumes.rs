//! The disks of a pool: the root volume and the data volumes.

use std::collections::HashSet;

use super::context::{PoolContext, ValidationContext};
use super::template;
use crate::model::{DocumentKind, FindingKind, MachineTemplate, Quantity, ROOT_DISK};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{not_found, not_usable, some_of};
use crate::validate::valid_shoot::{DataVolumeSpec, VolumeApi, VolumeSpec};

const MAX_NAME: usize = 15;

/// Name prefix of secondary disks; longer than the name of a data volume can be.
const SECONDARY_DISK: &str = "secondary-disk-";

struct VolumeRequest<'a> {
    type_: Option<&'a str>,
    size: Option<&'a Quantity>,
    encrypted: Option<bool>,
    /// True if the template sets the size, which need not be whole Gi then.
    is_own: bool,
}

/// A volume as it was applied last.
#[derive(Clone, Copy, Default)]
struct AppliedVolume<'a> {
    type_: Option<&'a str>,
    size: Option<&'a Quantity>,
}

impl AppliedVolume<'_> {
    fn is_same(&self, type_: &str, size: &Quantity) -> bool {
        self.type_ == Some(type_) && self.size.is_some_and(|it| it.value == size.value)
    }
}

pub(crate) fn root(
    context: &ValidationContext,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<VolumeSpec> {
    let at = &pool.at.key("volume");
    let own = own(pool).and_then(|it| it.primary_disk.as_ref());
    let given = pool.worker.volume.as_ref();
    // The template takes precedence.
    let size = own.and_then(|it| it.size.as_ref());
    let class = own.and_then(|it| it.storage_class_name.as_ref());
    let claiming = own.map_or_else(VolumeApi::default, |volume| {
        template::claiming(
            volume.storage_access_type.as_deref(),
            volume.storage_target.as_deref(),
        )
    });
    if let (Some(size), Some(class)) = (size, class) {
        return Some(VolumeSpec {
            type_: given.and_then(|it| it.type_.clone()).unwrap_or_default(),
            class: class.clone(),
            size: size.clone(),
            api: claiming,
        });
    }
    let Some(volume) = given else {
        report
            .error(at, FindingKind::Required, "volume/required", "is required")
            .hint("set type and size of the root disk, for example {type: standard, size: 20Gi}");
        return None;
    };
    let wanted = VolumeRequest {
        type_: volume.type_.as_deref(),
        size: size.or(volume.size.as_ref()),
        encrypted: volume.encrypted,
        is_own: size.is_some(),
    };
    let before = pool.before.and_then(|it| it.volume.as_ref());
    let before = before.map(|it| AppliedVolume {
        type_: it.type_.as_deref(),
        size: it.size.as_ref(),
    });
    if let Some(class) = class {
        let size = wanted.size.cloned()?;
        return Some(VolumeSpec {
            type_: volume.type_.clone().unwrap_or_default(),
            class: class.clone(),
            size,
            api: claiming,
        });
    }
    let resolved = resolve(context, pool, &wanted, before, at, report)?;
    Some(VolumeSpec {
        api: claiming,
        ..resolved
    })
}

/// Live migration requires shared volumes.
pub(crate) fn check_migration(
    pool: &PoolContext,
    root: &VolumeSpec,
    data: &[DataVolumeSpec],
    report: &mut FindingSink,
) {
    let Some(config) = pool.worker.provider_config.as_deref() else {
        return;
    };
    if config.eviction_strategy.as_deref() != Some("LiveMigrate") {
        return;
    }
    let is_unshared = |volume: &VolumeSpec| match &volume.api {
        VolumeApi::Pvc { access } => access != "ReadWriteMany",
        VolumeApi::Storage { access } => access.as_ref().is_some_and(|it| it != "ReadWriteMany"),
    };
    let others = data.iter().map(|it| (it.name.as_str(), &it.volume));
    let mut all = [(ROOT_DISK, root)].into_iter().chain(others);
    if let Some((name, _)) = all.find(|it| is_unshared(it.1)) {
        let at = &pool.at.key("providerConfig");
        report
            .error(
                &at.key("evictionStrategy"),
                FindingKind::Forbidden,
                "worker-config/cannot-migrate",
                format!("machines cannot migrate: volume {name:?} is not ReadWriteMany"),
            )
            .hint("set storageAccessType: ReadWriteMany in template.primaryDisk and secondaryDisks, or use External");
    }
}

fn own<'s>(pool: &PoolContext<'s>) -> Option<&'s MachineTemplate> {
    pool.worker.provider_config.as_deref()?.template.as_deref()
}

/// Secondary disks of the template.
pub(crate) fn secondary(pool: &PoolContext, root: &VolumeSpec) -> Vec<DataVolumeSpec> {
    let disks = own(pool)
        .map_or(&[][..], |it| &it.secondary_disks)
        .iter()
        .enumerate();
    disks
        .map(|(i, disk)| DataVolumeSpec {
            name: format!("{SECONDARY_DISK}{i}"),
            volume: VolumeSpec {
                type_: String::new(),
                class: disk
                    .storage_class_name
                    .as_ref()
                    .unwrap_or(&root.class)
                    .clone(),
                size: disk.size.clone(),
                api: template::claiming(disk.storage_access_type.as_deref(), None),
            },
        })
        .collect()
}

pub(crate) fn data(
    context: &ValidationContext,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<Vec<DataVolumeSpec>> {
    let volumes = &pool.worker.data_volumes;
    let at = &pool.at.key("dataVolumes");
    let mut known = HashSet::new();
    let mut resolved = Vec::with_capacity(volumes.len());
    for (i, volume) in volumes.iter().enumerate() {
        let at = &at.index(i);
        let at_name = &at.key("name");
        let codes = ("volume/name", "volume/name-too-long");
        names::check_dns_label(at_name, &volume.name, MAX_NAME, codes, report);
        if volume.name == ROOT_DISK {
            let message = format!("{ROOT_DISK:?} is reserved for the root volume");
            report.error(at_name, FindingKind::Invalid, "volume/root-disk", message);
        }
        if !volume.name.is_empty() && !known.insert(volume.name.as_str()) {
            let message = format!("duplicate data volume {:?}", volume.name);
            report.error(at_name, FindingKind::Duplicate, "volume/duplicate", message);
        }
        let wanted = VolumeRequest {
            type_: volume.type_.as_deref(),
            size: volume.size.as_ref(),
            encrypted: volume.encrypted,
            is_own: false,
        };
        let before = pool
            .before
            .and_then(|before| before.data_volumes.iter().find(|it| it.name == volume.name));
        let before = before.map(|it| AppliedVolume {
            type_: it.type_.as_deref(),
            size: it.size.as_ref(),
        });
        let volume_found = resolve(context, pool, &wanted, before, at, report);
        resolved.extend(volume_found.map(|resolved_volume| DataVolumeSpec {
            name: volume.name.clone(),
            volume: resolved_volume,
        }));
    }
    kubelet_volume(pool, &known, report);
    (resolved.len() == volumes.len()).then_some(resolved)
}

fn kubelet_volume(pool: &PoolContext, known: &HashSet<&str>, report: &mut FindingSink) {
    if let Some(name) = &pool.worker.kubelet_data_volume_name
        && !known.contains(name.as_str())
    {
        report.error(
            &pool.at.key("kubeletDataVolumeName"),
            FindingKind::Invalid,
            "volume/kubelet-volume-unknown",
            format!("data volume {name:?} not found"),
        );
    }
}

fn resolve(
    context: &ValidationContext,
    pool: &PoolContext,
    wanted: &VolumeRequest,
    before: Option<AppliedVolume>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<VolumeSpec> {
    if wanted.encrypted == Some(true) {
        let message = "has no effect: kvshoot does not encrypt disks";
        report
            .warning(
                &at.key("encrypted"),
                FindingKind::NotSupported,
                "volume/encrypted-ignored",
                message,
            )
            .hint("use a volume type whose StorageClass encrypts");
    }
    let size = match wanted.is_own {
        true => wanted.size,
        false => size(wanted.size, &at.key("size"), report),
    };
    let at_type = &at.key("type");
    let Some(name) = wanted.type_.filter(|name| !name.is_empty()) else {
        let offered = context.index.profile.spec.volume_types.iter();
        report
            .error(at_type, FindingKind::Required, "volume/type", "is required")
            .hint(format!(
                "available: {}",
                some_of(offered.map(|it| it.name.as_str()))
            ));
        return None;
    };
    let before = before.unwrap_or_default();
    let class = class(context, pool, name, before.type_, at_type, report)?;
    let size = size?;
    // The minimum may have been raised since.
    if !before.is_same(name, size) {
        minimum_size(context, name, size, &at.key("size"), report);
    }
    Some(VolumeSpec {
        type_: name.to_owned(),
        class,
        size: size.clone(),
        api: VolumeApi::default(),
    })
}

/// Returns a size in whole Gi, at least 1Gi, as in Gardener.
fn size<'a>(
    size: Option<&'a Quantity>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<&'a Quantity> {
    let Some(size) = size else {
        report
            .error(at, FindingKind::Required, "volume/size", "is required")
            .hint("for example 20Gi");
        return None;
    };
    let text = size.text();
    let digits = text.strip_suffix("Gi").unwrap_or_default();
    let has_form = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if has_form && size.value > 0.0 {
        return Some(size);
    }
    // An empty value is reported as missing.
    if !text.is_empty() {
        let gibibytes = size.value / f64::from(1 << 30);
        let message = match (gibibytes > 0.0, gibibytes.fract() == 0.0) {
            (false, _) => format!("must be at least 1Gi (is {text})"),
            (true, true) => format!("{text:?} is not in Gi"),
            (true, false) => format!("{text:?} is not a whole number of Gi"),
        };
        let hint = format!("write {}Gi", gibibytes.ceil().max(1.0));
        report
            .error(at, FindingKind::Invalid, "volume/size", message)
            .hint(hint);
    }
    None
}

fn minimum_size(
    context: &ValidationContext,
    name: &str,
    size: &Quantity,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let least = context
        .index
        .volume_types
        .get(name)
        .and_then(|(_, it)| it.min_size.as_ref());
    if let Some(least) = least.filter(|least| size.value < least.value) {
        let message =
            format!("must be at least {least}, the minimum of volume type {name:?} (is {size})");
        report.error(at, FindingKind::Invalid, "volume/too-small", message);
    }
}

/// StorageClass of a volume type; an unchanged type may come from the profile of the last run.
fn class(
    context: &ValidationContext,
    pool: &PoolContext,
    name: &str,
    before: Option<&str>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<String> {
    if before == Some(name) {
        let known = [Some(&context.index), context.previous_index.as_ref()];
        let mut known = known.into_iter().flatten();
        if let Some((_, found)) = known.find_map(|index| index.volume_types.get(name)) {
            return Some(found.class.clone());
        }
    }
    let index = &context.index;
    let entry = index.volume_types.get(name);
    if let Some((i, _)) = entry.filter(|(_, it)| it.usable == Some(false)) {
        let profile = FieldCursor::root(DocumentKind::CloudProfile);
        let spec = profile.key("spec");
        let list = spec.key("volumeTypes");
        let code = "volume/type-not-usable";
        not_usable(at, code, "volume type", name, &list.index(*i), report);
        return None;
    }
    let Some((_, found)) = entry else {
        let usable = index
            .profile
            .spec
            .volume_types
            .iter()
            .filter(|it| it.usable != Some(false));
        not_found(
            at,
            "volume/type-not-offered",
            "volume type",
            name,
            &index.title(),
            usable.map(|it| it.name.as_str()),
            report,
        );
        return None;
    };
    if let Some(zone) = pool.zone_without(&index.without_volume_type, name) {
        let message = format!("volume type {name:?} is not available in zone {zone:?}");
        report.error(
            at,
            FindingKind::NotSupported,
            "volume/type-not-in-zone",
            message,
        );
        return None;
    }
    Some(found.class.clone())
}
