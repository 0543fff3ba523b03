//! Edits of an existing shoot that cannot be carried out safely, and what to do instead.
//!
//! A generated table of all edits is in docs/edits.md.

mod control_plane;

use std::collections::HashMap;

use super::pool::machine::image::{complete_image, keeps_newer_image};
use super::report::{FieldCursor, FindingSink};
use super::shoot::kubernetes::keeps_newer_patch;
use super::shoot::networking as ranges;
use super::shoot::spec::profile_named;
use crate::model::{FindingKind, Shoot, Version, Worker};

pub(super) fn check(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let (old, new) = (&before.spec, &now.spec);
    same(&at.key("region"), &old.region, &new.region, report);
    let provider = &at.key("provider");
    same(
        &provider.key("type"),
        &old.provider.type_,
        &new.provider.type_,
        report,
    );
    if let (Some(was), Some(is)) = (profile_named(before), profile_named(now)) {
        let key = if new.cloud_profile.is_some() {
            "cloudProfile"
        } else {
            "cloudProfileName"
        };
        same(&at.key(key), was, is, report);
    }
    binding(before, now, at, report);
    networking(before, now, &at.key("networking"), report);
    node_mask(before, now, at, report);
    version(before, now, at, report);
    control_plane::check(before, now, at, report);

    let workers: HashMap<&str, &Worker> = old
        .provider
        .workers
        .iter()
        .map(|it| (it.name.as_str(), it))
        .collect();
    let at = &provider.key("workers");
    for (i, worker) in new.provider.workers.iter().enumerate() {
        if let Some(was) = workers.get(worker.name.as_str()) {
            let at = &at.index(i);
            pool(was, worker, at, report);
            image(was, worker, now, at, report);
        }
    }
}

fn same(at: &FieldCursor, was: &str, is: &str, report: &mut FindingSink) {
    if was != is && !is.is_empty() {
        report
            .error(
                at,
                FindingKind::Invalid,
                "update/immutable",
                format!("immutable (was {was})"),
            )
            .hint("it cannot be changed after creation; create a new shoot instead");
    }
}

/// The secret binding is immutable once it is set.
fn binding(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let was = before.spec.secret_binding_name.as_deref();
    if let (Some(was), Some(is)) = (was, now.spec.secret_binding_name.as_deref()) {
        same(&at.key("secretBindingName"), was, is, report);
    }
}

fn networking(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let (old, new) = (&before.spec.networking, &now.spec.networking);
    same(&at.key("type"), &old.type_, &new.type_, report);
    same(&at.key("nodes"), &old.nodes, &new.nodes, report);
    let defaults = ranges::DEFAULT_PODS;
    let (was, is) = (old.pods.as_deref(), new.pods.as_deref());
    same(
        &at.key("pods"),
        was.unwrap_or(defaults),
        is.unwrap_or(defaults),
        report,
    );
    let defaults = ranges::DEFAULT_SERVICES;
    let (was, is) = (old.services.as_deref(), new.services.as_deref());
    same(
        &at.key("services"),
        was.unwrap_or(defaults),
        is.unwrap_or(defaults),
        report,
    );
}

/// Nodes keep their pod ranges, and ranges of another size would overlap with them.
fn node_mask(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let (was, is) = (ranges::node_mask(before), ranges::node_mask(now));
    if was == is {
        return;
    }
    let at = &at.key("kubernetes");
    let at = &at.key("kubeControllerManager");
    report
        .error(
            &at.key("nodeCIDRMaskSize"),
            FindingKind::Invalid,
            "update/immutable",
            format!("the pod range of each node cannot be changed from /{was} to /{is}"),
        )
        .hint(format!("set it to {was}"));
}

/// Kubernetes can only be upgraded, by one minor version at a time.
fn version(before: &Shoot, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let (was_text, is_text) = (
        &before.spec.kubernetes.version,
        &now.spec.kubernetes.version,
    );
    let (Some(was), Some(is)) = (Version::parse(was_text), Version::parse(is_text)) else {
        return;
    };
    let at = &at.key("kubernetes");
    let at = &at.key("version");
    let (was_minor, is_minor) = (was.minor(), is.minor());
    // `1.34` is not a downgrade of 1.34.2.
    let is_lower = if is_text.matches('.').count() == 1 {
        is_minor < was_minor
    } else {
        is < was
    };
    if is_lower && keeps_newer_patch(before, now) {
        report.warning(
            at,
            FindingKind::Forbidden,
            "update/version-kept",
            format!("the cluster keeps {was_text}, to which it was updated"),
        );
    } else if is_lower {
        report
            .error(
                at,
                FindingKind::Forbidden,
                "update/version-lower",
                format!("cannot be downgraded from {was_text} to {is_text}"),
            )
            .hint("Kubernetes does not support downgrades");
    } else if is_minor.0 != was_minor.0 || is_minor.1 > was_minor.1 + 1 {
        report
            .error(
                at,
                FindingKind::Forbidden,
                "update/version-skips",
                format!("cannot skip minor versions between {was_text} and {is_text}"),
            )
            .hint(format!(
                "upgrade to {}.{} first",
                was_minor.0,
                was_minor.1 + 1
            ));
    }
}

/// A manifest that is older than an automatic update keeps the newer image.
fn image(was: &Worker, is: &Worker, now: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let (Some((had_name, had)), Some((name, wanted))) = (complete_image(was), complete_image(is))
    else {
        return;
    };
    if had_name == name && keeps_newer_image(now, had, wanted) {
        let at = &at.key("machine");
        let at = &at.key("image");
        report.warning(
            &at.key("version"),
            FindingKind::Forbidden,
            "update/image-kept",
            format!("the pool keeps {had}, to which it was updated"),
        );
    }
}

fn pool(was: &Worker, is: &Worker, at: &FieldCursor, report: &mut FindingSink) {
    let is_extended = is.zones.len() >= was.zones.len() && is.zones[..was.zones.len()] == was.zones;
    if !is_extended && !is.zones.is_empty() {
        report
            .error(
                &at.key("zones"),
                FindingKind::Invalid,
                "update/zones",
                format!("zones can only be appended to {}", was.zones.join(", ")),
            )
            .hint("to leave a zone, create another pool and remove this one");
    }
    let cri = |worker: &Worker| worker.cri.as_ref().map(|it| it.name.clone());
    let default = || "containerd".to_owned();
    if cri(was).unwrap_or_else(default) != cri(is).unwrap_or_else(default) {
        report
            .error(
                &at.key("cri"),
                FindingKind::Invalid,
                "update/cri",
                "cannot be changed",
            )
            .hint("create another pool and remove this one");
    }
}
