//! Objects of every sandbox, in addition to those that KubeVirt and CDI print.

use super::error::{SandboxError, io};
use super::install::KUBEVIRT_VERSION;
use super::state::Ports;
use crate::model::VOLUME_SNAPSHOTS;
use serde_json::{Value, json};
use std::path::Path;

/// Name of the provisioner; the simulator has the same name.
const PROVISIONER: &str = "disk.sandbox.kvshoot.io";
pub(super) const NAMESPACE: &str = "kvshoot-sandbox";

/// Namespaces, storage and snapshot classes, and the services behind the aggregated APIs.
pub(super) fn basics(ports: Ports, ca: &str) -> Vec<Value> {
    let mut objects: Vec<Value> = [NAMESPACE, "kubevirt", "cdi"]
        .iter()
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .collect();
    objects.push(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubevirt-ca", "namespace": "kubevirt"},
        "data": {"ca-bundle": ca},
    }));
    objects.push(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": PROVISIONER},
        "spec": {"attachRequired": false},
    }));
    for (name, mode, default) in [
        ("standard", "Immediate", "true"),
        ("local", "WaitForFirstConsumer", "false"),
    ] {
        objects.push(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default}},
            "provisioner": PROVISIONER, "volumeBindingMode": mode, "allowVolumeExpansion": true,
        }));
    }
    objects.push(json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass",
        "metadata": {"name": "standard", "annotations": {"snapshot.storage.kubernetes.io/is-default-class": "true"}},
        "driver": PROVISIONER, "deletionPolicy": "Delete",
    }));
    objects.extend(volume_rights());
    for (namespace, name, port) in [
        ("kubevirt", "virt-api", ports.virt_api()),
        ("cdi", "cdi-api", ports.cdi_api()),
    ] {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port, "protocol": "TCP"}]},
        }));
    }
    objects
}

/// The permission that `kvshoot doctor --rbac` prints for CSI drivers, here for those of all namespaces.
fn volume_rights() -> [Value; 2] {
    let (api, name) = ("rbac.authorization.k8s.io", "kvshoot-volumes");
    [
        json!({
            "apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["get"]}],
        }),
        json!({
            "apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": api, "kind": "Group", "name": "system:serviceaccounts"}],
        }),
    ]
}

/// The KubeVirt object, as after an installation by virt-operator.
pub(super) fn kubevirt() -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": {
            // Required to attach volumes of a shoot to its machines.
            "developerConfiguration": {"featureGates": ["HotplugVolumes"]},
            "controllerConfiguration": {"restClient": {"rateLimiter": {"tokenBucketRateLimiter": {"qps": 2000, "burst": 4000}}}},
        }},
    })
}

pub(super) fn kubevirt_status() -> Value {
    json!({"status": {
        "phase": "Deployed", "defaultArchitecture": "amd64", "observedKubeVirtVersion": KUBEVIRT_VERSION,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "AllComponentsReady", "message": "All components are ready."},
            {"type": "Created", "status": "True", "reason": "AllResourcesCreated", "message": "All resources were created."},
        ],
    }})
}

/// CustomResourceDefinitions of volume snapshots, the same as in shoots.
pub(super) fn snapshots() -> Result<Vec<Value>, SandboxError> {
    parsed(VOLUME_SNAPSHOTS).map_err(io("read the API of volume snapshots"))
}

/// The NetworkAttachmentDefinition resource, by the specification of the Network Plumbing Working Group.
pub(super) fn networks() -> Value {
    let text = "A network that pods can be attached to, with its CNI configuration";
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "network-attachment-definitions.k8s.cni.cncf.io"},
        "spec": {
            "group": "k8s.cni.cncf.io", "scope": "Namespaced",
            "names": {
                "plural": "network-attachment-definitions", "singular": "network-attachment-definition",
                "kind": "NetworkAttachmentDefinition", "shortNames": ["net-attach-def"],
            },
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "description": text, "type": "object",
                "properties": {
                    "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                    "spec": {"type": "object", "properties": {"config": {"type": "string"}}},
                },
            }}}],
        },
    })
}

/// Objects that CDI's controllers require.
pub(super) fn cdi(ca: &str, key: &str, public: &str) -> Vec<Value> {
    let mut objects: Vec<Value> = [
        "cdi-uploadserver-signer-bundle",
        "cdi-uploadserver-client-signer-bundle",
        "cdi-apiserver-signer-bundle",
    ]
    .iter()
    .map(|name| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "cdi"},
            "data": {"ca-bundle.crt": ca},
        })
    })
    .collect();
    objects.push(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cdi-api-signing-key", "namespace": "cdi"},
        "stringData": {"id_rsa": key, "id_rsa.pub": public},
    }));
    objects.push(json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDI", "metadata": {"name": "cdi"}, "spec": {},
    }));
    objects
}

/// Reads printed webhooks and API services, and redirects them to a port of this computer.
pub(super) fn redirected(path: &Path, port: u16, ca: &str) -> Result<Vec<Value>, SandboxError> {
    use base64::Engine;
    let ca = base64::engine::general_purpose::STANDARD.encode(ca);
    let mut objects = documents(path)?;
    for object in &mut objects {
        if object["kind"] == "APIService" {
            object["spec"]["caBundle"] = json!(ca);
            object["spec"]["service"]["port"] = json!(port);
        }
        for hook in object
            .get_mut("webhooks")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let path = hook["clientConfig"]["service"]["path"]
                .as_str()
                .unwrap_or("/")
                .to_owned();
            let url = format!("https://127.0.0.1:{port}{path}");
            hook["clientConfig"] = json!({"url": url, "caBundle": ca});
        }
    }
    Ok(objects)
}

fn documents(path: &Path) -> Result<Vec<Value>, SandboxError> {
    let text = super::private_files::read(path)?;
    parsed(&text).map_err(io(format!("read {}", path.display())))
}

fn parsed(text: &str) -> std::io::Result<Vec<Value>> {
    use serde::Deserialize;
    serde_yaml::Deserializer::from_str(text)
        .map(Value::deserialize)
        .filter(|value| !matches!(value, Ok(Value::Null)))
        .collect::<Result<_, _>>()
        .map_err(std::io::Error::other)
}
