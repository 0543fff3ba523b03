//! Machine type and image of a pool.

use super::architecture::{self, has_image};
use super::context::{PoolContext, ValidationContext};
use super::template;
use crate::model::{
    self, DocumentKind, FindingKind, MachineImage, MachineImageVersion, RootDisk, Shoot, Version,
    Worker,
};
use crate::validate::image_source::{self, ImageSource};
use crate::validate::profile::index::{IndexEntry, ProfileIndex, is_expired, is_preview};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{not_found, not_usable, some_of};
use crate::validate::shoot::preallocated_data_volumes;
use crate::validate::valid_shoot::{MachineSize, PoolImage};

/// Resolves the machine type; an unchanged type may come from the profile of the last run.
pub(crate) fn machine_type(
    context: &ValidationContext,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<MachineSize> {
    let name = pool.worker.machine.type_.as_str();
    let at = &pool.at.key("machine");
    let at = &at.key("type");
    let own = pool.worker.provider_config.as_deref();
    if let Some(own) = own.and_then(|it| template::machine_type(name, it)) {
        return Some(own);
    }
    if pool.before.is_some_and(|it| it.machine.type_ == name) {
        let known = [Some(&context.index), context.previous_index.as_ref()];
        let mut known = known.into_iter().flatten();
        if let Some(found) = known.find_map(|index| resolve(index, name)) {
            return Some(found);
        }
    }
    let index = &context.index;
    let entry = index.machine_types.get(name);
    if let Some((i, _)) = entry.filter(|(_, it)| it.usable == Some(false)) {
        let profile = FieldCursor::root(DocumentKind::CloudProfile);
        let spec = profile.key("spec");
        let list = spec.key("machineTypes");
        let code = "machine/type-not-usable";
        not_usable(at, code, "machine type", name, &list.index(*i), report);
        return None;
    }
    let Some((i, found)) = entry else {
        let usable = index
            .profile
            .spec
            .machine_types
            .iter()
            .filter(|it| it.usable != Some(false));
        not_found(
            at,
            "machine/type-not-offered",
            "machine type",
            name,
            &index.title(),
            usable.map(|it| it.name.as_str()),
            report,
        );
        return None;
    };
    if let Some(zone) = pool.zone_without(&index.without_machine_type, name) {
        let message = format!("machine type {name:?} is not available in zone {zone:?}");
        report.error(
            at,
            FindingKind::NotSupported,
            "machine/type-not-in-zone",
            message,
        );
        return None;
    }
    let config = pool.worker.provider_config.as_deref();
    let devices = config.and_then(|it| it.devices.as_ref());
    let attached = devices.map_or(0, |it| it.gpus.len());
    // An instancetype may attach them.
    let is_open = config.is_none_or(|it| it.instancetype.is_none());
    if let Some(gpu) = found
        .gpu
        .as_ref()
        .filter(|gpu| is_open && gpu.value > attached as f64)
    {
        let profile = FieldCursor::root(model::DocumentKind::CloudProfile);
        let message =
            format!("machine type {name:?} has {gpu} GPU, but the pool attaches {attached}");
        report
            .warning(
                at,
                FindingKind::NotSupported,
                "machine/gpu-ignored",
                message,
            )
            .hint(
                "list them in providerConfig.devices.gpus, with the names of your provider cluster",
            )
            .see(
                &profile.key("spec").key("machineTypes").index(*i).key("gpu"),
                "defined here",
            );
    }
    resolve(index, name)
}

fn resolve(index: &ProfileIndex, name: &str) -> Option<MachineSize> {
    let (_, found) = index.machine_types.get(name)?;
    let limits = index.limits.get(name);
    Some(MachineSize {
        name: name.to_owned(),
        cpu: found.cpu.clone(),
        memory: found.memory.clone(),
        cpu_limit: limits.and_then(|it| it.cpu.clone()),
        memory_limit: limits.and_then(|it| it.memory.clone()),
    })
}

/// Resolves the image: the requested one, else the current one, else the newest version of the first one of the profile.
///
/// `architecture` is that of the machines, if it is known.
pub(crate) fn image(
    context: &ValidationContext,
    pool: &PoolContext,
    architecture: Option<&str>,
    report: &mut FindingSink,
) -> Option<PoolImage> {
    let at = &pool.at.key("machine");
    let at = &at.key("image");
    let asked = pool.worker.machine.image.as_ref();
    let config = pool.worker.provider_config.as_deref();
    let disk = config.and_then(|it| it.template.as_ref()?.primary_disk.as_ref());
    if let Some(disk) = disk.filter(|it| it.os_image.is_some()) {
        let source = preallocated_disk(context, pool, disk, report)
            .or_else(|| image_source::of_root_disk(disk))?;
        return Some(PoolImage {
            name: asked.map_or("custom", |it| it.name.as_str()).to_owned(),
            version: asked.and_then(|it| it.version.clone()).unwrap_or_default(),
            source,
        });
    }
    let had = pool.before.and_then(complete_image);
    let name = asked.map(|it| it.name.as_str());
    let version = asked.and_then(|it| it.version.as_deref());
    if let Some((had_name, had_version)) = had
        && name.is_none_or(|name| name == had_name)
        && version.is_none_or(|version| {
            version == had_version || keeps_newer_image(context.input.shoot, had_version, version)
        })
    {
        let known = [Some(&context.index), context.previous_index.as_ref()];
        let mut known = known.into_iter().flatten();
        if let Some(found) = known.find_map(|index| source(index, had_name, had_version)) {
            return Some(found);
        }
    }
    let index = &context.index;
    let (_, image) = named(index, name, at, report)?;
    let version = match version {
        None => newest(context, image, architecture, at, report)?,
        Some(wanted) => given(context, image, wanted, at, report)?,
    };
    if !has_image(version, architecture) {
        let (version, name) = (&version.version, &image.name);
        let architecture = architecture.unwrap_or(architecture::DEFAULT);
        let message =
            format!("version {version:?} of machine image {name:?} is not for {architecture}");
        report
            .error(
                &at.key("version"),
                FindingKind::NotSupported,
                "machine/image-architecture",
                message,
            )
            .hint(format!(
                "add {architecture} to its architectures in the CloudProfile if it is"
            ));
        return None;
    }
    source(index, &image.name, &version.version)
}

/// Resolves a preallocated disk that the pool clones; a clone can be larger but not smaller.
fn preallocated_disk(
    context: &ValidationContext,
    pool: &PoolContext,
    disk: &RootDisk,
    report: &mut FindingSink,
) -> Option<ImageSource> {
    let Some(ImageSource::Claim {
        namespace: None,
        name,
    }) = image_source::of_root_disk(disk)
    else {
        return None;
    };
    let own = preallocated_data_volumes::named(context.input, &name)?;
    let volume = pool.worker.volume.as_ref();
    let size = disk.size.as_ref();
    let size = size.or(volume.and_then(|it| it.size.as_ref()));
    if let Some(size) = size.filter(|it| it.value < own.size.value) {
        let at = &pool.at.key("providerConfig");
        let at = &at.key("template");
        let at = &at.key("primaryDisk");
        let message = format!(
            "must be at least {}, the size of disk {name:?} (is {size})",
            own.size
        );
        report
            .error(
                &at.key("size"),
                FindingKind::Invalid,
                "disk/too-small",
                message,
            )
            .hint("a clone cannot be smaller than its source");
    }
    Some(ImageSource::Own(name))
}

/// Returns true if a pool keeps the version of its image although the manifest has a lower one: automatic updates may have
/// installed it, and the manifest is older than they are.
pub(crate) fn keeps_newer_image(now: &Shoot, had: &str, wanted: &str) -> bool {
    let versions = Version::parse(had).zip(Version::parse(wanted));
    now.spec.updates_images() && versions.is_some_and(|(had, wanted)| wanted < had)
}

/// Name and version of an image; images that were applied have both.
pub(crate) fn complete_image(worker: &Worker) -> Option<(&str, &str)> {
    let image = worker.machine.image.as_ref()?;
    Some((image.name.as_str(), image.version.as_deref()?))
}

fn named<'o>(
    index: &ProfileIndex<'o>,
    name: Option<&str>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<IndexEntry<'o, MachineImage>> {
    let images = &index.profile.spec.machine_images;
    let Some(name) = name else {
        if images.is_empty() {
            let message = format!("{} has no machine images", index.title());
            let code = "machine/image-not-offered";
            report.error(at, FindingKind::NotSupported, code, message);
        }
        return images.first().map(|first| (0, first));
    };
    let found = index.images.get(name).copied();
    if found.is_none() {
        let offered = images.iter().map(|it| it.name.as_str());
        not_found(
            &at.key("name"),
            "machine/image-not-offered",
            "machine image",
            name,
            &index.title(),
            offered,
            report,
        );
    }
    found
}

fn newest<'o>(
    context: &ValidationContext,
    image: &'o MachineImage,
    architecture: Option<&str>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<&'o MachineImageVersion> {
    let newest = image
        .versions
        .iter()
        .filter(|it| !is_expired(it.expiration_date.as_deref(), context.input.now))
        .filter(|it| !is_preview(it.classification.as_deref()))
        .filter(|it| has_image(it, architecture))
        .max_by_key(|it| Version::parse(&it.version));
    if newest.is_none() {
        let message = format!(
            "all versions of machine image {:?} are expired, in preview or for another architecture",
            image.name
        );
        report
            .error(
                &at.key("version"),
                FindingKind::Required,
                "machine/image-version-not-offered",
                message,
            )
            .hint("set a version");
    }
    newest
}

fn given<'o>(
    context: &ValidationContext,
    image: &'o MachineImage,
    wanted: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<&'o MachineImageVersion> {
    let current = || {
        let versions = image.versions.iter();
        versions.filter(|it| !is_expired(it.expiration_date.as_deref(), context.input.now))
    };
    let found = current().find(|it| it.version == wanted);
    if found.is_none() {
        let is_known = image.versions.iter().any(|it| it.version == wanted);
        let reason = match is_known {
            true => "is expired".to_owned(),
            false => format!("not found in {}", context.index.title()),
        };
        let message = format!(
            "version {wanted:?} of machine image {:?} {reason}",
            image.name
        );
        let hint = some_of(current().map(|it| it.version.as_str()));
        report
            .error(
                &at.key("version"),
                FindingKind::NotSupported,
                "machine/image-version-not-offered",
                message,
            )
            .hint(format!("available: {hint}"));
    }
    found
}

/// Source of an image version; a missing one is reported for the profile.
fn source(index: &ProfileIndex, name: &str, version: &str) -> Option<PoolImage> {
    let (_, _, url) = index.urls.get(&(name, version))?;
    Some(PoolImage {
        name: name.to_owned(),
        version: version.to_owned(),
        source: image_source::of_url(url),
    })
}
