//! The spec of a CloudProfile.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::model::ARCHITECTURES;
use crate::model::{
    CloudProfile, FindingKind, MachineImage, MachineImageVersion, MachineType, Region, Version,
    VersionConstraint,
};
use crate::validate::names;
use crate::validate::pool::machine::architecture::unsupported;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{is_pem_certificates, not_negative, unique};

pub(crate) fn check(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let spec = &profile.spec;
    let at = &at.key("spec");
    let at_type = &at.key("type");
    if !spec.type_.is_empty() && spec.type_ != "kubevirt" {
        let message = format!("unsupported value {:?}", spec.type_);
        report
            .error(at_type, FindingKind::NotSupported, "profile/type", message)
            .hint("supported values: kubevirt");
    }
    let at_kubernetes = &at.key("kubernetes");
    kubernetes(profile, &at_kubernetes.key("versions"), report);
    images(&spec.machine_images, &at.key("machineImages"), report);
    machine_types(&spec.machine_types, &at.key("machineTypes"), report);
    volume_types(profile, &at.key("volumeTypes"), report);
    regions(&spec.regions, &at.key("regions"), report);
    let bundle = spec.ca_bundle.as_deref();
    if bundle.is_some_and(|it| !is_pem_certificates(it)) {
        let (code, message) = ("profile/ca-bundle", "not a valid PEM certificate");
        report.error(&at.key("caBundle"), FindingKind::Invalid, code, message);
    }
}

/// A version of Kubernetes or of an image.
struct Expirable<'a> {
    version: &'a str,
    expiration: Option<&'a str>,
    classification: Option<&'a str>,
}

fn kubernetes(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let versions: Vec<Expirable> = profile
        .spec
        .kubernetes
        .versions
        .iter()
        .map(|version| Expirable {
            version: &version.version,
            expiration: version.expiration_date.as_deref(),
            classification: version.classification.as_deref(),
        })
        .collect();
    for (i, it) in versions.iter().enumerate() {
        if !it.version.is_empty() && !is_full_version(it.version) {
            let message = format!("{:?} is not a full version", it.version);
            report
                .error(
                    &at.index(i).key("version"),
                    FindingKind::Invalid,
                    "profile/kubernetes-version",
                    message,
                )
                .hint("for example 1.34.2");
        }
    }
    let newest = versions
        .iter()
        .enumerate()
        .filter_map(|(i, it)| Some((Version::parse(it.version)?, i)))
        .max();
    if let Some((version, i)) = newest
        && versions[i].expiration.is_some_and(is_timestamp)
    {
        let message = format!("newest version {version} must not expire");
        report.error(
            &at.index(i).key("expirationDate"),
            FindingKind::Invalid,
            "profile/newest-expires",
            message,
        );
    }
    one_supported(&versions, at, report);
    expirable(&versions, at, report);
}

/// Another text is reported as such.
fn is_timestamp(text: &str) -> bool {
    text.parse::<jiff::Timestamp>().is_ok()
}

fn is_full_version(text: &str) -> bool {
    text.split('.').count() == 3
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && Version::parse(text).is_some()
}

/// At most one patch version of a minor version can be classified as supported.
fn one_supported(versions: &[Expirable], at: &FieldCursor, report: &mut FindingSink) {
    let mut known = HashMap::new();
    for (i, it) in versions.iter().enumerate() {
        let version = Version::parse(it.version);
        let Some(version) = version.filter(|_| it.classification == Some("supported")) else {
            continue;
        };
        let Some(first) = known.get(&version.minor()).copied() else {
            known.insert(version.minor(), i);
            continue;
        };
        let (major, minor) = version.minor();
        report
            .error(
                &at.index(i).key("classification"),
                FindingKind::Forbidden,
                "profile/two-supported",
                format!("only one version of {major}.{minor} can be classified as supported"),
            )
            .see(&at.index(first).key("classification"), "first defined here");
    }
}

fn expirable(versions: &[Expirable], at: &FieldCursor, report: &mut FindingSink) {
    const CLASSES: [&str; 3] = ["preview", "supported", "deprecated"];
    unique(versions.iter().map(|it| it.version), at, "version", report);
    for (i, it) in versions.iter().enumerate() {
        let at = &at.index(i);
        if let Some(class) = it.classification.filter(|it| !CLASSES.contains(it)) {
            report
                .error(
                    &at.key("classification"),
                    FindingKind::NotSupported,
                    "profile/classification",
                    format!("unsupported value {class:?}"),
                )
                .hint(format!("supported values: {}", CLASSES.join(", ")));
        }
        if let Some(date) = it.expiration.filter(|it| it.parse::<Timestamp>().is_err()) {
            report
                .error(
                    &at.key("expirationDate"),
                    FindingKind::Invalid,
                    "profile/expiration-date",
                    format!("{date:?} is not a valid timestamp"),
                )
                .hint("use RFC 3339, for example 2026-06-30T23:59:59Z");
        }
    }
}

const STRATEGIES: [&str; 3] = ["patch", "minor", "major"];

fn images(images: &[MachineImage], at: &FieldCursor, report: &mut FindingSink) {
    unique(images.iter().map(|it| it.name.as_str()), at, "name", report);
    for (i, image) in images.iter().enumerate() {
        let at = &at.index(i);
        let strategy = image.update_strategy.as_deref();
        if let Some(strategy) = strategy.filter(|it| !STRATEGIES.contains(it)) {
            report
                .error(
                    &at.key("updateStrategy"),
                    FindingKind::NotSupported,
                    "profile/update-strategy",
                    format!("unsupported value {strategy:?}"),
                )
                .hint(format!("supported values: {}", STRATEGIES.join(", ")));
        }
        let at = &at.key("versions");
        let versions: Vec<Expirable> = image
            .versions
            .iter()
            .map(|version| Expirable {
                version: &version.version,
                expiration: version.expiration_date.as_deref(),
                classification: version.classification.as_deref(),
            })
            .collect();
        expirable(&versions, at, report);
        for (j, version) in image.versions.iter().enumerate() {
            image_version(version, &at.index(j), report);
        }
    }
}

fn image_version(version: &MachineImageVersion, at: &FieldCursor, report: &mut FindingSink) {
    if !version.version.is_empty() && Version::parse(&version.version).is_none() {
        let message = format!("{:?} is not a valid version", version.version);
        report
            .error(
                &at.key("version"),
                FindingKind::Invalid,
                "profile/image-version",
                message,
            )
            .hint("for example 24.04 or 3815.2.0");
    }
    let at_architectures = &at.key("architectures");
    for (k, given) in version.architectures.iter().enumerate() {
        if !ARCHITECTURES.contains(&given.as_str()) {
            let code = "profile/architecture";
            unsupported(given, code, &at_architectures.index(k), report);
        }
    }
    for (k, cri) in version
        .cri
        .iter()
        .enumerate()
        .filter(|(_, it)| it.name != "containerd")
    {
        let message = format!("unsupported value {:?}", cri.name);
        let at = &at.key("cri");
        report
            .error(
                &at.index(k).key("name"),
                FindingKind::NotSupported,
                "profile/cri",
                message,
            )
            .hint("supported values: containerd");
    }
    let constraint = version.kubelet_version_constraint.as_deref();
    let constraint = constraint.filter(|it| !it.is_empty());
    if let Some(constraint) = constraint.filter(|it| VersionConstraint::parse(it).is_none()) {
        report
            .error(
                &at.key("kubeletVersionConstraint"),
                FindingKind::Invalid,
                "profile/kubelet-version-constraint",
                format!("{constraint:?} is not a valid constraint of versions"),
            )
            .hint("for example >= 1.33.0, < 1.36.0");
    }
}

fn machine_types(types: &[MachineType], at: &FieldCursor, report: &mut FindingSink) {
    unique(types.iter().map(|it| it.name.as_str()), at, "name", report);
    for (i, it) in types.iter().enumerate() {
        let at = &at.index(i);
        not_negative(&it.cpu, &at.key("cpu"), report);
        not_negative(&it.memory, &at.key("memory"), report);
        let architecture = it.architecture.as_deref();
        if let Some(given) = architecture.filter(|it| !ARCHITECTURES.contains(it)) {
            let code = "profile/architecture";
            unsupported(given, code, &at.key("architecture"), report);
        }
        if let Some(gpu) = &it.gpu {
            not_negative(gpu, &at.key("gpu"), report);
        }
        for (name, amount) in [("cpu", &it.cpu), ("memory", &it.memory)] {
            // An invalid quantity is reported elsewhere.
            if amount.value == 0.0 && !amount.text().is_empty() {
                report.error(
                    &at.key(name),
                    FindingKind::Invalid,
                    "profile/no-resources",
                    "must be greater than 0",
                );
            }
        }
    }
}

fn volume_types(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let types = &profile.spec.volume_types;
    unique(types.iter().map(|it| it.name.as_str()), at, "name", report);
    for (i, it) in types.iter().enumerate() {
        if !it.class.is_empty() && !names::is_dns_subdomain(&it.class) {
            let message = format!("{:?} is not a valid StorageClass name", it.class);
            report
                .error(
                    &at.index(i).key("class"),
                    FindingKind::Invalid,
                    "profile/storage-class",
                    message,
                )
                .hint("run `kubectl get storageclasses` to list the names");
        }
    }
}

fn regions(regions: &[Region], at: &FieldCursor, report: &mut FindingSink) {
    unique(
        regions.iter().map(|it| it.name.as_str()),
        at,
        "name",
        report,
    );
    for (i, region) in regions.iter().enumerate() {
        let at = &at.index(i);
        place(&region.name, &at.key("name"), report);
        names::check_labels(&at.key("labels"), &region.labels, report);
        let at = &at.key("zones");
        unique(
            region.zones.iter().map(|it| it.name.as_str()),
            at,
            "name",
            report,
        );
        for (j, zone) in region.zones.iter().enumerate() {
            place(&zone.name, &at.index(j).key("name"), report);
        }
    }
}

/// Regions and zones are label values of provider nodes.
fn place(name: &str, at: &FieldCursor, report: &mut FindingSink) {
    if !names::is_label_value(name) {
        let message = format!("{name:?} is not a valid label value");
        report
            .error(at, FindingKind::Invalid, "profile/place", message)
            .hint(names::LABEL_VALUE);
    }
}
