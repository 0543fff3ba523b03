//! The Kubernetes version of a pool, which may lag behind that of the control plane.

use super::context::{PoolContext, ValidationContext};
use crate::model::{FindingKind, Version};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::shoot::kubernetes::{self, VersionRequest};

/// Minor versions that a kubelet may be older than the API server, by the version skew policy of Kubernetes.
const MAX_LAG: u64 = 3;

/// Resolves the version of a pool to a full version: that of the control plane unless the pool has its own.
///
/// `control_plane` is absent if it cannot be resolved, which is reported elsewhere.
pub(crate) fn check(
    context: &ValidationContext,
    pool: &PoolContext,
    control_plane: Option<&str>,
    report: &mut FindingSink,
) -> Option<String> {
    let own = pool.worker.kubernetes.as_ref();
    let own = own.and_then(|it| it.version.as_deref());
    let Some(wanted) = own.filter(|it| !it.is_empty()) else {
        return control_plane.map(str::to_owned);
    };
    if control_plane == Some(wanted) {
        return Some(wanted.to_owned());
    }
    let at = &pool.at.key("kubernetes");
    let at = &at.key("version");
    let before = version_before(context, pool);
    let request = VersionRequest {
        wanted,
        before,
        newest: control_plane.and_then(Version::parse),
    };
    let version = kubernetes::resolve(context.input, &context.index, &request, at, report)?;
    let is_valid = is_within_skew(&version, control_plane, at, report)
        && is_no_downgrade(&version, before, at, report);
    is_valid.then_some(version)
}

/// The full version that the pool was last applied with.
pub(super) fn version_before<'c>(
    context: &ValidationContext<'c>,
    pool: &PoolContext<'c>,
) -> Option<&'c str> {
    let own = pool.before?.kubernetes.as_ref();
    let own = own.and_then(|it| it.version.as_deref());
    let of_shoot = context
        .input
        .previous
        .map(|it| it.spec.kubernetes.version.as_str());
    own.or(of_shoot)
}

fn is_within_skew(
    version: &str,
    control_plane: Option<&str>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> bool {
    let Some((own, other)) = Version::parse(version).zip(control_plane.and_then(Version::parse))
    else {
        return true;
    };
    let (text, hint) = match other.minor().1.checked_sub(own.minor().1) {
        _ if own > other => ("must not be newer than", "upgrade the control plane first"),
        Some(lag) if lag > MAX_LAG => (
            "must be at most 3 minor versions older than",
            "upgrade the pool first",
        ),
        _ => return true,
    };
    let message = format!("{text} Kubernetes {other} of the control plane (is {version})");
    report
        .error(at, FindingKind::Forbidden, "pool/version-skew", message)
        .hint(hint);
    false
}

fn is_no_downgrade(
    version: &str,
    before: Option<&str>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> bool {
    let before = before.and_then(Version::parse);
    let is_older = before.as_ref().zip(Version::parse(version));
    if let Some((before, _)) = is_older.filter(|(before, now)| now < before) {
        let message = format!("cannot be downgraded from {before} (is {version})");
        report
            .error(
                at,
                FindingKind::Forbidden,
                "pool/version-downgrade",
                message,
            )
            .hint("create another pool with the older version, then remove this one");
        return false;
    }
    true
}
