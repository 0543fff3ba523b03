//! `componentImages` of the CloudProfileConfig: images that replace the defaults.

use crate::model::{self, CloudProfile, FindingKind};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::some_of;

/// All components with an image, in the provider cluster and in the shoot.
pub(crate) const COMPONENTS: [&str; 26] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "cluster-autoscaler",
    "konnectivity-server",
    "kubevirt-cloud-controller-manager",
    "kubevirt-csi-driver",
    "csi-provisioner",
    "csi-attacher",
    "csi-resizer",
    "csi-snapshotter",
    "snapshot-controller",
    "livenessprobe",
    "csi-node-driver-registrar",
    "kube-proxy",
    "coredns",
    "pause",
    "konnectivity-agent",
    "metrics-server",
    "flannel",
    "flannel-cni-plugin",
    "dashboard",
    "dashboard-metrics-scraper",
    "nginx-ingress",
    "nginx-ingress-certgen",
];

/// `at` is the `providerConfig`. An unknown name would be ignored, and the default image used.
pub(crate) fn check(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    let at = &at.key("componentImages");
    for (name, image) in &profile.spec.provider_config.component_images {
        let at = &at.key(name);
        if !COMPONENTS.contains(&name.as_str()) {
            let names = COMPONENTS.into_iter();
            let hint = model::suggest(name, names.clone()).map_or_else(
                || format!("available components: {}", some_of(names)),
                |meant| format!("did you mean {meant:?}?"),
            );
            let message = format!("unknown component {name:?}");
            report
                .error(
                    at,
                    FindingKind::NotSupported,
                    "profile/component-unknown",
                    message,
                )
                .hint(hint);
        } else if image.is_empty() || image.contains("://") || image.contains(char::is_whitespace) {
            let message = format!("{image:?} is not a valid image reference");
            report
                .error(at, FindingKind::Invalid, "profile/component-image", message)
                .hint("write it without a scheme, for example registry.example.org/etcd:3.6.8-0");
        }
    }
}
