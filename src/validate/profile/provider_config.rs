//! The CloudProfileConfig: image sources and limits of machine types.

use std::collections::{HashMap, HashSet};

use crate::model::{
    CloudProfile, CloudProfileConfig, FindingKind, MachineImage, MachineImageSource,
    MachineImageSourceVersion,
};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{some_of, unique};

pub(crate) fn check(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let at = &at.key("spec");
    let at = &at.key("providerConfig");
    let config = &profile.spec.provider_config;
    let images: HashMap<&str, &MachineImage> = profile
        .spec
        .machine_images
        .iter()
        .map(|it| (it.name.as_str(), it))
        .collect();
    let at_images = &at.key("machineImages");
    unique(
        config.machine_images.iter().map(|it| it.name.as_str()),
        at_images,
        "name",
        report,
    );
    for (i, source) in config.machine_images.iter().enumerate() {
        let at = &at_images.index(i);
        let image = images.get(source.name.as_str()).copied();
        if image.is_none() && !source.name.is_empty() {
            let available = profile
                .spec
                .machine_images
                .iter()
                .map(|it| it.name.as_str());
            report
                .error(
                    &at.key("name"),
                    FindingKind::Forbidden,
                    "profile/image-unknown",
                    format!(
                        "machine image {:?} not found in spec.machineImages",
                        source.name
                    ),
                )
                .hint(format!("available: {}", some_of(available)));
        }
        image_versions(source, image, at, report);
    }
    without_source(profile, report);
    limits(profile, &at.key("machineTypes"), report);
    super::storage_classes::check(config, at, report);
    templates(config, &at.key("templateNamespace"), report);
    super::component_images::check(profile, at, report);
    super::downloads::check(profile, at, report);
    super::machine_network::check(profile, at, report);
    super::network_manifests::check(profile, at, report);
    crate::validate::network_policy::check_profile(profile, at, report);
}

fn templates(config: &CloudProfileConfig, at: &FieldCursor, report: &mut FindingSink) {
    let namespace = config.template_namespace.as_deref().unwrap_or_default();
    if !namespace.is_empty() && !names::is_dns_label(namespace) {
        let code = "profile/template-namespace";
        let message = format!("{namespace:?} is not a valid namespace name");
        report
            .error(at, FindingKind::Invalid, code, message)
            .hint(names::DNS_LABEL);
    }
}

fn image_versions(
    source: &MachineImageSource,
    image: Option<&MachineImage>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let available: HashSet<&str> = image
        .iter()
        .flat_map(|it| &it.versions)
        .map(|it| it.version.as_str())
        .collect();
    let at_versions = &at.key("versions");
    unique(
        source.versions.iter().map(|it| it.version.as_str()),
        at_versions,
        "version",
        report,
    );
    for (i, version) in source.versions.iter().enumerate() {
        let at = &at_versions.index(i);
        if image.is_some()
            && !version.version.is_empty()
            && !available.contains(version.version.as_str())
        {
            let message = format!(
                "version {:?} of machine image {:?} not found in spec.machineImages",
                version.version, source.name
            );
            report
                .error(
                    &at.key("version"),
                    FindingKind::Invalid,
                    "profile/version-unknown",
                    message,
                )
                .hint(format!(
                    "available: {}",
                    some_of(
                        image
                            .iter()
                            .flat_map(|it| &it.versions)
                            .map(|it| it.version.as_str())
                    )
                ));
        }
        url(version, &at.key("sourceURL"), report);
    }
    let given: HashSet<&str> = source
        .versions
        .iter()
        .map(|it| it.version.as_str())
        .collect();
    let missing: Vec<&str> = image
        .iter()
        .flat_map(|it| &it.versions)
        .map(|it| it.version.as_str())
        .filter(|it| !it.is_empty() && !given.contains(it))
        .collect();
    if !missing.is_empty() {
        let message = format!("missing versions: {}", missing.join(","));
        report
            .error(
                at,
                FindingKind::Invalid,
                "profile/versions-missing",
                message,
            )
            .hint("add a sourceURL for each, or remove them from spec.machineImages");
    }
}

/// Reports images without a source, which would otherwise fail only when a machine is created.
fn without_source(profile: &CloudProfile, report: &mut FindingSink) {
    let sources: HashSet<&str> = profile
        .spec
        .provider_config
        .machine_images
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let root = &FieldCursor::root(crate::model::DocumentKind::CloudProfile);
    let at = &root.key("spec");
    let at = &at.key("machineImages");
    for (i, image) in profile.spec.machine_images.iter().enumerate() {
        if !image.name.is_empty() && !sources.contains(image.name.as_str()) {
            let message = format!(
                "machine image {:?} not found in spec.providerConfig.machineImages",
                image.name
            );
            report
                .error(
                    &at.index(i).key("name"),
                    FindingKind::Invalid,
                    "profile/image-without-source",
                    message,
                )
                .hint("add it there with a sourceURL for each version");
        }
    }
}

/// Checks a URL that CDI imports from; without credentials, since it appears in names, events and logs.
fn url(version: &MachineImageSourceVersion, at: &FieldCursor, report: &mut FindingSink) {
    let url = version.source_url.as_str();
    if url.is_empty() {
        return;
    }
    let parts = url
        .split_once("://")
        .filter(|_| !url.contains(|c: char| c.is_whitespace() || c.is_control()));
    let Some((scheme, rest)) = parts else {
        // The text is not shown, since it may contain credentials.
        report
            .error(at, FindingKind::Invalid, "profile/url", "not a valid URL")
            .hint("for example https://images.example.org/ubuntu.img");
        return;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        report
            .error(
                at,
                FindingKind::Forbidden,
                "profile/url-credentials",
                "must not contain credentials",
            )
            .hint("serve the image without authentication, or from inside the provider cluster");
    } else if !["http", "https", "docker", "oci"].contains(&scheme.to_ascii_lowercase().as_str()) {
        report
            .error(
                at,
                FindingKind::NotSupported,
                "profile/url-scheme",
                format!("unsupported URL scheme {scheme:?}"),
            )
            .hint("supported schemes: https, http, docker, oci");
    } else if authority.is_empty() {
        report.error(at, FindingKind::Invalid, "profile/url", "URL has no host");
    } else if scheme.eq_ignore_ascii_case("http") {
        report
            .warning(
                at,
                FindingKind::Invalid,
                "profile/url-plain",
                "plain http: the image can be modified in transit",
            )
            .hint("use https");
    }
}

fn limits(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let types = &profile.spec.provider_config.machine_types;
    unique(types.iter().map(|it| it.name.as_str()), at, "name", report);
    let offered: HashMap<&str, _> = profile
        .spec
        .machine_types
        .iter()
        .enumerate()
        .map(|(i, it)| (it.name.as_str(), (i, it)))
        .collect();
    let root = &FieldCursor::root(crate::model::DocumentKind::CloudProfile);
    let at_offered = &root.key("spec");
    let at_offered = &at_offered.key("machineTypes");
    for (i, it) in types.iter().enumerate() {
        let at = &at.index(i);
        let Some((j, machine)) = offered.get(it.name.as_str()) else {
            let available = profile.spec.machine_types.iter().map(|it| it.name.as_str());
            report
                .warning(
                    &at.key("name"),
                    FindingKind::Invalid,
                    "profile/limits-unused",
                    format!("machine type {:?} not found in spec.machineTypes", it.name),
                )
                .hint(format!("available: {}", some_of(available)));
            continue;
        };
        let Some(limits) = &it.limits else { continue };
        let at = &at.key("limits");
        for (name, limit, request) in [
            ("cpu", &limits.cpu, &machine.cpu),
            ("memory", &limits.memory, &machine.memory),
        ] {
            let Some(limit) = limit.as_ref().filter(|it| !it.text().is_empty()) else {
                continue;
            };
            if limit.value < request.value {
                report
                    .error(
                        &at.key(name),
                        FindingKind::Invalid,
                        "profile/limit-below-request",
                        format!(
                            "must be at least {request}, as in machine type {:?} (is {limit})",
                            it.name
                        ),
                    )
                    .see(&at_offered.index(*j).key(name), "defined here");
            }
        }
    }
}
