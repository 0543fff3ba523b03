//! Admission plugins of kube-apiserver.

use super::minor::{KNOWN_MINORS, range};
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

/// Plugins that came later, with their first minor version.
const LATER: [(&str, u64); 7] = [
    ("MutatingAdmissionPolicy", 32),
    ("PodTopologyLabels", 33),
    ("NodeDeclaredFeatureValidator", 35),
    ("JobValidation", 36),
    ("PodGroupProtection", 36),
    ("PodGroupWorkloadExists", 36),
    ("PodResizeValidator", 36),
];

/// Reports a plugin that kube-apiserver of this minor version does not know.
pub(crate) fn check(name: &str, minor: Option<u64>, at: &FieldCursor, report: &mut FindingSink) {
    let Some(minor) = minor.filter(|_| !name.is_empty() && !ALL.contains(&name)) else {
        return;
    };
    let later = LATER.iter().find(|it| it.0 == name);
    let hint = match later {
        Some((_, first)) if *first <= minor => return,
        Some((_, first)) => {
            let last = *KNOWN_MINORS.end();
            format!("Kubernetes {} has it", range(*first, last))
        }
        None => {
            let known = LATER.iter().filter(|it| it.1 <= minor).map(|it| it.0);
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
