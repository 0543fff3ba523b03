//! `spec.kubernetes`: the version, and the settings of its components.

use std::collections::BTreeSet;

use super::{component_settings, kubelet};
use crate::model::{FindingKind, KubeProxy, Shoot, Version, Worker};
use crate::validate::context::Input;
use crate::validate::profile::index::{ProfileIndex, is_expired, is_preview};
use crate::validate::releases::{self, KNOWN_MINORS};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::some_of;

/// A version that a manifest asks for.
pub(crate) struct VersionRequest<'a> {
    /// `1.34` or `1.34.2`.
    pub(crate) wanted: &'a str,
    /// The full version that was last applied, which stays even if the profile no longer contains it.
    pub(crate) before: Option<&'a str>,
    /// The newest version to choose for `1.34`.
    pub(crate) newest: Option<Version>,
}

/// Resolves the version of the control plane to a full version.
pub(crate) fn version(
    input: &Input,
    index: &ProfileIndex,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<String> {
    let older = input.previous;
    let older = older.filter(|it| keeps_newer_patch(it, input.shoot));
    let request = VersionRequest {
        wanted: older
            .unwrap_or(input.shoot)
            .spec
            .kubernetes
            .version
            .as_str(),
        before: input.previous.map(|it| it.spec.kubernetes.version.as_str()),
        newest: None,
    };
    resolve(input, index, &request, &at.key("version"), report)
}

/// Returns true if the Shoot of a cluster keeps its version of Kubernetes although the manifest has a lower one: automatic
/// updates may have installed it, and the manifest is older than they are.
pub(crate) fn keeps_newer_patch(before: &Shoot, now: &Shoot) -> bool {
    let version = |shoot: &Shoot| Version::parse(&shoot.spec.kubernetes.version);
    let (Some(was), Some(is)) = (version(before), version(now)) else {
        return false;
    };
    now.spec.updates_kubernetes() && is < was && is.minor() == was.minor()
}

/// Resolves a version to a full version.
pub(crate) fn resolve(
    input: &Input,
    index: &ProfileIndex,
    request: &VersionRequest,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<String> {
    let wanted = request.wanted;
    let Some(version) = Version::parse(wanted).filter(|_| has_form(wanted)) else {
        if !wanted.is_empty() {
            let message = format!("{wanted:?} is not a valid Kubernetes version");
            report
                .error(at, FindingKind::Invalid, "kubernetes/version", message)
                .hint("write 1.34 for its newest patch, or a full version such as 1.34.2");
        }
        return None;
    };
    if let Some(kept) = kept(request) {
        return Some(kept.to_owned());
    }
    let found = if wanted.matches('.').count() == 1 {
        newest_patch(input, index, &version, request.newest.as_ref())
    } else {
        named(input, index, wanted)
    };
    let Some(found) = found else {
        let message = format!(
            "Kubernetes version {wanted:?} not found in {}",
            index.title()
        );
        report
            .error(
                at,
                FindingKind::NotSupported,
                "kubernetes/version-not-offered",
                message,
            )
            .hint(format!("available: {}", offered(input, index)));
        return None;
    };
    let (major, minor) = version.minor();
    if major != 1 || !KNOWN_MINORS.contains(&minor) {
        let (first, last) = (KNOWN_MINORS.start(), KNOWN_MINORS.end());
        let message = format!("kvshoot does not support Kubernetes {wanted}");
        report
            .error(
                at,
                FindingKind::NotSupported,
                "kubernetes/version-unknown",
                message,
            )
            .hint(format!("supported versions: 1.{first} to 1.{last}"));
        return None;
    }
    Some(found.to_owned())
}

/// Returns true for `1.34` or `1.34.2`; [`Version`] accepts more.
fn has_form(text: &str) -> bool {
    let parts = text.split('.').count();
    (2..=3).contains(&parts) && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Keeps the current version, even if the profile no longer contains it.
fn kept<'a>(request: &VersionRequest<'a>) -> Option<&'a str> {
    let before = request.before?;
    let is_patch_of = before
        .strip_prefix(request.wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    (is_patch_of && before.matches('.').count() == 2).then_some(before)
}

fn named<'a>(input: &Input, index: &ProfileIndex<'a>, wanted: &str) -> Option<&'a str> {
    let versions = &index.profile.spec.kubernetes.versions;
    let found = versions.iter().find(|it| it.version == wanted)?;
    (!is_expired(found.expiration_date.as_deref(), input.now)).then_some(found.version.as_str())
}

fn newest_patch<'a>(
    input: &Input,
    index: &ProfileIndex<'a>,
    wanted: &Version,
    newest: Option<&Version>,
) -> Option<&'a str> {
    let versions = &index.profile.spec.kubernetes.versions;
    versions
        .iter()
        .filter(|it| !is_expired(it.expiration_date.as_deref(), input.now))
        .filter(|it| !is_preview(it.classification.as_deref()))
        .filter_map(|it| Some((Version::parse(&it.version)?, it.version.as_str())))
        .filter(|(version, _)| version.minor() == wanted.minor())
        .filter(|(version, _)| newest.is_none_or(|newest| version <= newest))
        .max()
        .map(|(_, text)| text)
}

fn offered(input: &Input, index: &ProfileIndex) -> String {
    let versions = &index.profile.spec.kubernetes.versions;
    let current = versions
        .iter()
        .filter(|it| !is_expired(it.expiration_date.as_deref(), input.now));
    some_of(current.map(|it| it.version.as_str()))
}

/// Checks everything below `spec.kubernetes` except the version.
pub(crate) fn settings(input: &Input, at: &FieldCursor, report: &mut FindingSink) {
    let kubernetes = &input.shoot.spec.kubernetes;
    if let Some(it) = &kubernetes.kubelet {
        let minors = inherited_minors(input.shoot);
        kubelet::check(it, minors, &at.key("kubelet"), report);
    }
    if let Some(it) = &kubernetes.kube_proxy {
        let minor = releases::minor(&kubernetes.version);
        kube_proxy(it, minor, &at.key("kubeProxy"), report);
    }
    component_settings::check(kubernetes, at, report);
    let mask = kubernetes
        .kube_controller_manager
        .as_ref()
        .and_then(|it| it.node_cidr_mask_size);
    if let Some(mask) = mask {
        let at = &at.key("kubeControllerManager");
        node_mask(input, mask, &at.key("nodeCIDRMaskSize"), report);
    }
}

/// Minor versions of the pools without kubelet settings of their own, which have those of the Shoot; each one once.
fn inherited_minors(shoot: &Shoot) -> BTreeSet<u64> {
    let spec = &shoot.spec;
    let of_pool = |pool: &Worker| {
        let own = pool.kubernetes.as_ref();
        if own.is_some_and(|it| it.kubelet.is_some()) {
            return None;
        }
        let version = own.and_then(|it| it.version.as_deref());
        let version = version.filter(|it| !it.is_empty());
        releases::minor(version.unwrap_or(&spec.kubernetes.version))
    };
    spec.provider.workers.iter().filter_map(of_pool).collect()
}

fn kube_proxy(
    settings: &KubeProxy,
    minor: Option<u64>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    const MODES: [&str; 3] = ["IPTables", "IPVS", "NFTables"];
    if let Some(mode) = settings
        .mode
        .as_deref()
        .filter(|mode| !MODES.contains(mode))
    {
        report
            .error(
                &at.key("mode"),
                FindingKind::NotSupported,
                "kubernetes/proxy-mode",
                format!("unsupported value {mode:?}"),
            )
            .hint(format!("supported values: {}", MODES.join(", ")));
    }
    // From the release notes of Kubernetes 1.37.
    if settings.mode.as_deref() == Some("IPVS") && minor.is_some_and(|it| it >= 35) {
        report
            .warning(
                &at.key("mode"),
                FindingKind::NotSupported,
                "kubernetes/proxy-mode",
                "IPVS is deprecated since Kubernetes 1.35, and will be removed",
            )
            .hint("use NFTables, or IPTables on images with older kernels");
    }
}

/// Every node gets a range of this size, which must have enough addresses for its pods.
fn node_mask(input: &Input, mask: i32, at: &FieldCursor, report: &mut FindingSink) {
    if !(16..=28).contains(&mask) {
        let message = format!("must be between 16 and 28 (is {mask})");
        report.error(at, FindingKind::Invalid, "kubernetes/node-mask", message);
        return;
    }
    let most_pods = most_pods(input.shoot);
    let addresses = (1_i64 << (32 - mask)) - 2;
    if addresses < i64::from(most_pods) {
        let message =
            format!("leaves only {addresses} addresses for {most_pods} pods on each node");
        report
            .error(
                at,
                FindingKind::Invalid,
                "kubernetes/node-mask-too-small",
                message,
            )
            .hint("lower nodeCIDRMaskSize or maxPods");
    }
}

/// Highest maxPods of all pools.
pub(crate) fn most_pods(shoot: &Shoot) -> i32 {
    let spec = &shoot.spec;
    let of_pools = spec
        .provider
        .workers
        .iter()
        .filter_map(|pool| pool.kubernetes.as_ref()?.kubelet.as_ref());
    let settings = spec.kubernetes.kubelet.iter().chain(of_pools);
    settings.filter_map(|it| it.max_pods).max().unwrap_or(110)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocumentKind;
    use serde_json::json;

    #[test]
    fn a_deprecated_proxy_mode_is_a_warning() {
        let warns = |mode: &str, minor: u64| {
            let mut report = FindingSink::default();
            let settings = json!({ "mode": mode });
            let settings: KubeProxy = serde_json::from_value(settings).expect("valid settings");
            let at = FieldCursor::root(DocumentKind::Shoot);
            kube_proxy(&settings, Some(minor), &at, &mut report);
            assert!(report.errors.is_empty());
            report.warnings.pop().is_some()
        };
        assert!(warns("IPVS", 35));
        assert!(!warns("IPVS", 34) && !warns("NFTables", 37));
    }
}
