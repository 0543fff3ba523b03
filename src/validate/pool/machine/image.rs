//! The image of a pool.

use super::architecture::{self, has_image};
use crate::model::{
    FindingKind, MachineImage, MachineImageVersion, RootDisk, Shoot, Version, Worker,
};
use crate::validate::image_source::{self, ImageSource};
use crate::validate::pool::context::{PoolContext, ValidationContext};
use crate::validate::pool::version::version_before;
use crate::validate::profile::index::{IndexEntry, ProfileIndex, is_expired, is_preview};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{not_found, some_of};
use crate::validate::shoot::preallocated_data_volumes;
use crate::validate::valid_shoot::PoolImage;

/// Demands on the image of a pool, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImageRequirements<'a> {
    pub(crate) architecture: Option<&'a str>,
    /// Kubernetes version of the kubelet.
    pub(crate) kubernetes: Option<&'a str>,
}

impl ImageRequirements<'_> {
    fn has_kubelet(self, version: &MachineImageVersion) -> bool {
        let mut kubernetes = self.kubernetes.into_iter();
        kubernetes.all(|it| version.supports_kubelet(it))
    }

    /// True also for an image that the profile no longer has.
    fn has_kubelet_on(self, index: &ProfileIndex, name: &str, version: &str) -> bool {
        let image = index.images.get(name);
        let mut versions = image.into_iter().flat_map(|(_, it)| &it.versions);
        let version = versions.find(|it| it.version == version);
        version.is_none_or(|it| self.has_kubelet(it))
    }
}

/// Resolves the image: the requested one, else the current one, else the newest version of the first one of the profile.
pub(in crate::validate::pool) fn check(
    context: &ValidationContext,
    pool: &PoolContext,
    requirements: ImageRequirements,
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
        && (requirements.kubernetes == version_before(context, pool)
            || requirements.has_kubelet_on(&context.index, had_name, had_version))
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
        None => newest(context, image, requirements, at, report)?,
        Some(wanted) => given(context, image, wanted, at, report)?,
    };
    if !has_image(version, requirements.architecture) {
        let (version, name) = (&version.version, &image.name);
        let architecture = requirements.architecture.unwrap_or(architecture::DEFAULT);
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
    if !requirements.has_kubelet(version) {
        other_kubelet(
            context,
            image,
            version,
            requirements,
            &at.key("version"),
            report,
        );
        return None;
    }
    source(index, &image.name, &version.version)
}

/// Reports an image on which the kubelet of the pool does not run.
fn other_kubelet(
    context: &ValidationContext,
    image: &MachineImage,
    version: &MachineImageVersion,
    requirements: ImageRequirements,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let constraint = version.kubelet_version_constraint.as_deref();
    let message = format!(
        "version {:?} of machine image {:?} is for Kubernetes {} (the pool has {})",
        version.version,
        image.name,
        constraint.unwrap_or_default(),
        requirements.kubernetes.unwrap_or_default(),
    );
    let others = usable(context, image, requirements).map(|it| it.version.as_str());
    let hint = format!("available: {}", some_of(others));
    let code = "machine/image-kubelet-version";
    report
        .error(at, FindingKind::NotSupported, code, message)
        .hint(hint);
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
    requirements: ImageRequirements,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<&'o MachineImageVersion> {
    let newest = usable(context, image, requirements)
        .filter(|it| !is_preview(it.classification.as_deref()))
        .max_by_key(|it| Version::parse(&it.version));
    if newest.is_none() {
        let message = format!(
            "all versions of machine image {:?} are expired, in preview, or for another architecture or Kubernetes version",
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

/// Versions that the machines can run.
fn usable<'o>(
    context: &ValidationContext,
    image: &'o MachineImage,
    requirements: ImageRequirements,
) -> impl Iterator<Item = &'o MachineImageVersion> {
    let versions = image.versions.iter();
    versions
        .filter(|it| !is_expired(it.expiration_date.as_deref(), context.input.now))
        .filter(move |it| has_image(it, requirements.architecture))
        .filter(move |it| requirements.has_kubelet(it))
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
