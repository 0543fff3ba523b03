//! Container images of a cluster: versions by minor version of Kubernetes.

use crate::model::Version;
use crate::validate::ValidShoot;

pub(crate) const KUBEVIRT_CCM: &str = "kubevirt-cloud-controller-manager";
pub(crate) const KUBEVIRT_CSI: &str = "kubevirt-csi-driver";

/// Versions that kubeadm of this minor version uses, and the matching konnectivity and cluster autoscaler.
struct Release {
    coredns: &'static str,
    pause: &'static str,
    konnectivity: &'static str,
    cluster_autoscaler: &'static str,
}

/// Returns the image reference of a component: the profile's own unchanged, otherwise the default, pulled from the
/// registry that replaces all public ones, if there is one.
pub(crate) fn image(shoot: &ValidShoot, component: &str) -> String {
    let control_plane = &shoot.control_plane;
    if let Some(given) = control_plane.images.get(component) {
        return given.clone();
    }
    let image = default_image(&shoot.kubernetes, component);
    match &control_plane.registry {
        Some(registry) => from_registry(&image, registry),
        None => image,
    }
}

/// The minor version of the shoot: 34 for 1.34.2.
pub(crate) fn minor(shoot: &ValidShoot) -> u64 {
    minor_of(&shoot.kubernetes)
}

fn minor_of(version: &str) -> u64 {
    Version::parse(version).map_or(0, |it| it.minor().1)
}

/// Replaces the host and keeps the path.
pub(crate) fn from_registry(image: &str, registry: &str) -> String {
    let path = match image.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        Some(_) => image,
        // Docker's default namespace.
        None => &format!("library/{image}"),
    };
    format!("{}/{path}", registry.trim_end_matches('/'))
}

/// Returns the default image of a component in clusters of a version.
pub(crate) fn default_image(version: &str, component: &str) -> String {
    let minor = minor_of(version);
    let release = release(minor);
    // Since 1.34 VolumeAttributesClass is `v1`, and newer sidecars read only that version.
    let sidecar = |old: &'static str, new: &'static str| if minor < 34 { old } else { new };
    let (path, tag) = match component {
        "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "kube-proxy" => {
            return format!("registry.k8s.io/{component}:v{version}");
        }
        // The same minor version of etcd for all, so that no shoot ever migrates from 3.5.
        "etcd" => ("registry.k8s.io/etcd", "3.6.8-0"),
        "coredns" => ("registry.k8s.io/coredns/coredns", release.coredns),
        "pause" => ("registry.k8s.io/pause", release.pause),
        "konnectivity-server" => (
            "registry.k8s.io/kas-network-proxy/proxy-server",
            release.konnectivity,
        ),
        "konnectivity-agent" => (
            "registry.k8s.io/kas-network-proxy/proxy-agent",
            release.konnectivity,
        ),
        "metrics-server" => (
            "registry.k8s.io/metrics-server/metrics-server",
            if minor < 35 { "v0.8.1" } else { "v0.9.0" },
        ),
        KUBEVIRT_CCM => (
            "quay.io/kubevirt/kubevirt-cloud-controller-manager",
            "v0.5.1",
        ),
        // KubeVirt's own image has no tag except `latest`.
        "cluster-autoscaler" => (
            "registry.k8s.io/autoscaling/cluster-autoscaler",
            release.cluster_autoscaler,
        ),
        KUBEVIRT_CSI => ("quay.io/kubermatic/kubevirt-csi-driver", "v0.4.5"),
        "csi-provisioner" => (
            "registry.k8s.io/sig-storage/csi-provisioner",
            sidecar("v5.3.0", "v6.1.0"),
        ),
        "csi-attacher" => (
            "registry.k8s.io/sig-storage/csi-attacher",
            sidecar("v4.9.0", "v4.10.0"),
        ),
        "csi-resizer" => (
            "registry.k8s.io/sig-storage/csi-resizer",
            sidecar("v1.14.0", "v2.0.0"),
        ),
        // The controller requires the definitions of its own version.
        "csi-snapshotter" => ("registry.k8s.io/sig-storage/csi-snapshotter", "v8.3.0"),
        "snapshot-controller" => ("registry.k8s.io/sig-storage/snapshot-controller", "v8.3.0"),
        "livenessprobe" => ("registry.k8s.io/sig-storage/livenessprobe", "v2.17.0"),
        "csi-node-driver-registrar" => (
            "registry.k8s.io/sig-storage/csi-node-driver-registrar",
            "v2.15.0",
        ),
        "flannel" => ("ghcr.io/flannel-io/flannel", "v0.28.9"),
        "flannel-cni-plugin" => ("ghcr.io/flannel-io/flannel-cni-plugin", "v1.9.1-flannel3"),
        "dashboard" => ("docker.io/kubernetesui/dashboard", "v2.7.0"),
        "dashboard-metrics-scraper" => ("docker.io/kubernetesui/metrics-scraper", "v1.0.8"),
        "nginx-ingress" => ("registry.k8s.io/ingress-nginx/controller", "v1.15.1"),
        "nginx-ingress-certgen" => (
            "registry.k8s.io/ingress-nginx/kube-webhook-certgen",
            "v1.6.9",
        ),
        other => unreachable!("{other} is not a known component"),
    };
    format!("{path}:{tag}")
}

fn release(minor: u64) -> Release {
    let (coredns, pause, konnectivity, cluster_autoscaler) = match minor {
        ..=31 => ("v1.11.3", "3.10", "v0.31.4", "v1.31.3"),
        32 => ("v1.11.3", "3.10", "v0.32.1", "v1.32.2"),
        33 => ("v1.12.0", "3.10", "v0.33.1", "v1.33.1"),
        34 => ("v1.12.1", "3.10.1", "v0.34.0", "v1.34.5"),
        35 => ("v1.13.1", "3.10.1", "v0.35.0", "v1.35.2"),
        36 => ("v1.14.2", "3.10.2", "v0.36.0", "v1.36.1"),
        // kube-apiserver 1.37 is built with konnectivity 0.36, and the newest autoscaler known is that of 1.36.
        37.. => ("v1.14.6", "3.10.2", "v0.36.0", "v1.36.1"),
    };
    Release {
        coredns,
        pause,
        konnectivity,
        cluster_autoscaler,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::KNOWN_MINORS;
    use crate::validate::component_images::COMPONENTS;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    #[test]
    fn every_component_has_a_tag_in_every_version() {
        for minor in KNOWN_MINORS {
            for component in COMPONENTS {
                let image = default_image(&format!("1.{minor}.1"), component);
                let (path, tag) = image.rsplit_once(':').expect("it has a tag");
                assert!(path.contains('/') && !tag.is_empty(), "{image}");
                assert_ne!(tag, "latest");
            }
        }
    }

    #[test]
    fn another_registry_keeps_the_path() {
        let mut shoot = valid_for_tests(SHOOT);
        shoot.control_plane.registry = Some("registry.example.org/mirror/".into());
        assert_eq!(
            image(&shoot, "coredns"),
            "registry.example.org/mirror/coredns/coredns:v1.12.1"
        );
        for (given, expected) in [
            ("calico/node:v3", "a/calico/node:v3"),
            ("nginx", "a/library/nginx"),
            ("localhost/x", "a/x"),
            ("host:5000/x/y@sha256:0", "a/x/y@sha256:0"),
        ] {
            assert_eq!(from_registry(given, "a"), expected);
        }
        assert_eq!(
            image(&shoot, "kube-apiserver"),
            "registry.example.org/mirror/kube-apiserver:v1.34.2"
        );
    }

    #[test]
    fn an_image_of_the_profile_is_used_unchanged() {
        let mut shoot = valid_for_tests(SHOOT);
        shoot.control_plane.registry = Some("registry.example.org".into());
        let own = "example.org/etcd@sha256:abc";
        shoot.control_plane.images.insert("etcd".into(), own.into());
        assert_eq!(image(&shoot, "etcd"), own);
    }
}
