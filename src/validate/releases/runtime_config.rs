//! API groups and versions that kube-apiserver can enable and disable.

use std::collections::BTreeMap;

use crate::model::{FindingKind, suggest};
use crate::validate::report::{FieldCursor, FindingSink};

/// Groups of versions. `api/legacy` is not one of them anymore; kube-apiserver does not start with it.
const STAGES: [&str; 4] = ["api/all", "api/ga", "api/beta", "api/alpha"];

/// API versions of all supported versions. From the `register.go` of each package of `k8s.io/api`.
/// The core group has an empty name.
const ALL: [&str; 54] = [
    "/v1",
    "admission.k8s.io/v1",
    "admission.k8s.io/v1beta1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1alpha1",
    "certificates.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "coordination.k8s.io/v1beta1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "internal.apiserver.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1alpha1",
    "rbac.authorization.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1",
    "scheduling.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storage.k8s.io/v1beta1",
    "imagepolicy.k8s.io/v1alpha1",
    "apidiscovery.k8s.io/v2",
    "apidiscovery.k8s.io/v2beta1",
];

/// API versions that only some versions have: first and last minor version.
const SOME: [(&str, u64, u64); 15] = [
    ("autoscaling/v2beta1", 31, 35),
    ("autoscaling/v2beta2", 31, 35),
    ("coordination.k8s.io/v1alpha1", 31, 31),
    ("coordination.k8s.io/v1alpha2", 32, 37),
    ("lifecycle.k8s.io/v1alpha1", 37, 37),
    ("networking.k8s.io/v1alpha1", 31, 33),
    ("resource.k8s.io/v1", 34, 37),
    ("resource.k8s.io/v1beta1", 32, 37),
    ("resource.k8s.io/v1beta2", 33, 37),
    ("scheduling.k8s.io/v1alpha1", 31, 35),
    ("scheduling.k8s.io/v1alpha2", 36, 36),
    ("scheduling.k8s.io/v1alpha3", 37, 37),
    ("storagemigration.k8s.io/v1", 37, 37),
    ("storagemigration.k8s.io/v1alpha1", 31, 34),
    ("storagemigration.k8s.io/v1beta1", 35, 37),
];

/// Reports API versions that kube-apiserver of this minor version does not know. A key can also name a resource, as in
/// `GROUP/VERSION/RESOURCE`.
pub(crate) fn check(
    minor: Option<u64>,
    given: Option<&BTreeMap<String, bool>>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let (Some(minor), Some(given)) = (minor, given) else {
        return;
    };
    for key in given.keys().filter(|it| !STAGES.contains(&it.as_str())) {
        let mut ends = key.match_indices('/').map(|it| it.0);
        let end = ends.nth(1).unwrap_or(key.len());
        let version = &key[..end];
        let known = SOME
            .iter()
            .filter(|it| (it.1..=it.2).contains(&minor))
            .map(|it| it.0)
            .chain(ALL);
        if known.clone().any(|it| it == version) {
            continue;
        }
        let message = format!("kube-apiserver 1.{minor} has no API version {version:?}");
        let meant = suggest(version, known.chain(STAGES));
        let hint = meant.map_or(
            "write GROUP/VERSION, such as resource.k8s.io/v1beta1, or api/all".to_owned(),
            |it| format!("did you mean {it:?}?"),
        );
        let code = "kubernetes/runtime-config";
        report
            .error(&at.key(key), FindingKind::NotSupported, code, message)
            .hint(hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocumentKind;

    #[test]
    fn the_core_group_is_known_and_the_legacy_group_is_not() {
        let verdict = |key: &str| {
            let mut report = FindingSink::default();
            let given = BTreeMap::from([(key.to_owned(), true)]);
            let at = FieldCursor::root(DocumentKind::Shoot);
            check(Some(34), Some(&given), &at, &mut report);
            report.errors.pop().map(|it| it.message)
        };
        for key in ["/v1", "/v1/pods", "api/all", "apps/v1"] {
            assert_eq!(verdict(key), None, "{key}");
        }
        for key in ["api/legacy", "v1", "/v2"] {
            let expected = format!("kube-apiserver 1.34 has no API version {key:?}");
            assert_eq!(verdict(key), Some(expected));
        }
    }
}
