//! Admission plugins of kube-apiserver.

use super::minor::range;
use crate::model::{FindingKind, suggest};
use crate::validate::report::{FieldCursor, FindingSink};

/// Plugins of all supported versions. From `pkg/kubeapiserver/options/plugins.go` of Kubernetes.
const ALL: [&str; 34] = [
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ClusterTrustBundleAttest",
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "MutatingAdmissionWebhook",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NamespaceLifecycle",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "PodNodeSelector",
    "PodSecurity",
    "PodTolerationRestriction",
    "Priority",
    "ResourceQuota",
    "RuntimeClass",
    "ServiceAccount",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
];

/// Plugins that only some versions have: first and last minor version.
const SOME: [(&str, u64, u64); 7] = [
    ("MutatingAdmissionPolicy", 32, 37),
    ("PodTopologyLabels", 33, 37),
    ("NodeDeclaredFeatureValidator", 35, 37),
    ("JobValidation", 36, 36),
    ("PodGroupProtection", 36, 37),
    ("PodGroupWorkloadExists", 36, 36),
    ("PodResizeValidator", 36, 37),
];

/// Reports a plugin that kube-apiserver of this minor version does not know.
pub(crate) fn check(name: &str, minor: Option<u64>, at: &FieldCursor, report: &mut FindingSink) {
    let Some(minor) = minor.filter(|_| !name.is_empty() && !ALL.contains(&name)) else {
        return;
    };
    let has = |it: &&(&str, u64, u64)| (it.1..=it.2).contains(&minor);
    let hint = match SOME.iter().find(|it| it.0 == name) {
        Some(plugin) if has(&plugin) => return,
        Some((_, first, last)) => format!("Kubernetes {} has it", range(*first, *last)),
        None => {
            let known = SOME.iter().filter(has).map(|it| it.0);
            let meant = suggest(name, ALL.into_iter().chain(known));
            meant.map_or("remove it".to_owned(), |it| format!("did you mean {it:?}?"))
        }
    };
    let message = format!("kube-apiserver 1.{minor} has no admission plugin {name:?}");
    let code = "kubernetes/admission-plugin";
    report
        .error(at, FindingKind::NotSupported, code, message)
        .hint(hint);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocumentKind;

    #[test]
    fn plugins_are_judged_by_the_minor_version() {
        let verdict = |name: &str, minor: u64| {
            let mut report = FindingSink::default();
            let at = FieldCursor::root(DocumentKind::Shoot);
            check(name, Some(minor), &at, &mut report);
            let found = report.errors.pop();
            found.map(|it| format!("{}; {}", it.message, it.hint.unwrap_or_default()))
        };
        for (name, minor) in [
            ("PodSecurity", 37),
            ("JobValidation", 36),
            ("PodResizeValidator", 37),
        ] {
            assert_eq!(verdict(name, minor), None, "{name} {minor}");
        }
        for (name, minor, expected) in [
            ("PodTopologyLabels", 32, "Kubernetes 1.33 to 1.37 has it"),
            ("JobValidation", 37, "Kubernetes 1.36 has it"),
            ("PodSecurty", 34, "did you mean \"PodSecurity\"?"),
            ("None", 34, "remove it"),
        ] {
            let expected =
                format!("kube-apiserver 1.{minor} has no admission plugin {name:?}; {expected}");
            assert_eq!(verdict(name, minor), Some(expected));
        }
    }
}
