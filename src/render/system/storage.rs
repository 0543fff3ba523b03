//! Volumes: the StorageClasses of the profile and of the provider, and the node part of the KubeVirt CSI driver, which
//! mounts disks.
//!
//! The controller part, which creates and attaches disks, runs with the control plane.

use super::context::SystemContext;
use super::objects::{account, cluster_role, cluster_role_binding, rule, service_account};
use super::pods::{PROBE_SECONDS, field, host_path, mount, on_every_node};
use crate::render::component::Component;
use crate::render::images::{KUBEVIRT_CSI, image};
use crate::render::storage_classes::offered;
use crate::state::facts::OfferedStorageClass;
use crate::state::names;
use serde_json::{Value, json};
use std::collections::HashSet;

const NAME: &str = "kubevirt-csi-node";
pub(crate) const DRIVER: &str = "csi.kubevirt.io";
const KUBELET: &str = "/var/lib/kubelet";
const HEALTH_PORT: u16 = 10300;

pub(crate) fn component(context: &SystemContext) -> Component {
    let mut objects = vec![driver()];
    objects.extend(classes(context));
    // It reads the Node it runs on.
    let rules = [rule("", &["nodes"], &["get"])];
    objects.extend([
        service_account(NAME),
        cluster_role(NAME, &rules),
        cluster_role_binding(NAME, NAME, &[account(NAME)]),
        daemon_set(context),
    ]);
    Component {
        name: "storage",
        title: "Deploy CSI driver".into(),
        objects,
    }
}

fn driver() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": { "name": DRIVER },
        "spec": {
            "attachRequired": true,
            "podInfoOnMount": true,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
        },
    })
}

/// A class for each usable volume type of the profile, and one for each class that the profile or the provider offers
/// directly. The first volume type is the default, unless one of the offered classes is.
fn classes(context: &SystemContext) -> Vec<Value> {
    let offered = offered(context.shoot, context.classes);
    let has_default = offered.values().any(|it| it.is_default);
    let types = context.shoot.profile.spec.volume_types.iter();
    let mut names = HashSet::new();
    let expands = context.expands_volumes;
    let mut classes: Vec<Value> = types
        .filter(|it| it.usable != Some(false))
        .map(|it| (class_name(&it.name), it.class.as_str()))
        .filter(|(name, _)| !name.is_empty() && names.insert(name.clone()))
        .enumerate()
        .map(|(i, (name, class))| {
            storage_class(&name, class, &usual(i == 0 && !has_default), expands)
        })
        .collect();
    let offered = offered
        .iter()
        .map(|(class, offer)| (format!("kubevirt-{class}"), class, offer))
        .filter(|it| !names.contains(&it.0));
    classes.extend(offered.map(|(name, class, offer)| storage_class(&name, class, offer, expands)));
    classes
}

fn usual(is_default: bool) -> OfferedStorageClass {
    OfferedStorageClass {
        is_default,
        binding_mode: "Immediate".into(),
        reclaim_policy: "Delete".into(),
        expandable: true,
    }
}

/// Volume types may have any name; object names are restricted.
fn class_name(volume_type: &str) -> String {
    let name = volume_type.to_lowercase();
    let name = name.replace(|it: char| !it.is_ascii_alphanumeric() && it != '-', "-");
    name.trim_matches('-').to_owned()
}

/// Disks use the SCSI bus, because the driver finds them by serial number, which virtio truncates to 20 characters.
fn storage_class(name: &str, class: &str, offer: &OfferedStorageClass, expands: bool) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": name,
            "annotations": { names::DEFAULT_CLASS: offer.is_default.to_string() },
        },
        "provisioner": DRIVER,
        "parameters": { "infraStorageClassName": class, "bus": "scsi" },
        "allowVolumeExpansion": offer.expandable && expands,
        "reclaimPolicy": &*offer.reclaim_policy,
        "volumeBindingMode": &*offer.binding_mode,
    })
}

fn daemon_set(context: &SystemContext) -> Value {
    let plugin = format!("{KUBELET}/plugins/{DRIVER}");
    let pod = json!({
        "containers": [node_driver(context), registrar(context), liveness_probe(context)],
        "volumes": [
            host_path("kubelet", KUBELET, "Directory"),
            host_path("plugin", &plugin, "DirectoryOrCreate"),
            host_path("registration", &format!("{KUBELET}/plugins_registry"), "Directory"),
            host_path("device", "/dev", "Directory"),
            host_path("udev", "/run/udev", ""),
        ],
    });
    on_every_node(NAME, Value::Null, pod)
}

fn node_driver(context: &SystemContext) -> Value {
    json!({
        "name": "csi-driver",
        "image": image(context.shoot, KUBEVIRT_CSI),
        "args": [
            "--endpoint=unix:/csi/csi.sock",
            "--node-name=$(NODE_NAME)",
            "--run-node-service=true",
            "--run-controller-service=false",
        ],
        "env": [field("NODE_NAME", "spec.nodeName")],
        "livenessProbe": {
            "httpGet": { "path": "/healthz", "port": HEALTH_PORT },
            "initialDelaySeconds": 10,
            "timeoutSeconds": PROBE_SECONDS,
            "failureThreshold": 5,
        },
        "ports": [{ "name": "healthz", "containerPort": HEALTH_PORT, "protocol": "TCP" }],
        "resources": { "requests": { "cpu": "10m", "memory": "50Mi" } },
        "securityContext": { "privileged": true },
        "volumeMounts": [
            { "name": "kubelet", "mountPath": KUBELET, "mountPropagation": "Bidirectional" },
            mount("plugin", "/csi"),
            mount("device", "/dev"),
            mount("udev", "/run/udev"),
        ],
    })
}

/// Registers the driver with the kubelet.
fn registrar(context: &SystemContext) -> Value {
    json!({
        "name": "csi-node-driver-registrar",
        "image": image(context.shoot, "csi-node-driver-registrar"),
        "args": [
            "--csi-address=/csi/csi.sock",
            format!("--kubelet-registration-path={KUBELET}/plugins/{DRIVER}/csi.sock"),
        ],
        "resources": { "requests": { "cpu": "5m", "memory": "20Mi" } },
        "volumeMounts": [mount("plugin", "/csi"), mount("registration", "/registration")],
    })
}

fn liveness_probe(context: &SystemContext) -> Value {
    json!({
        "name": "csi-liveness-probe",
        "image": image(context.shoot, "livenessprobe"),
        "args": [
            "--csi-address=/csi/csi.sock",
            "--probe-timeout=3s",
            format!("--health-port={HEALTH_PORT}"),
        ],
        "resources": { "requests": { "cpu": "5m", "memory": "20Mi" } },
        "volumeMounts": [mount("plugin", "/csi")],
    })
}
