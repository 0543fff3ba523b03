//! Common settings of the components' pods.

use super::context::SystemContext;
use super::objects::NAMESPACE;
use crate::state::names::{SYSTEM_COMPONENTS, TOKEN_KEY, TRUSTED_CA};
use serde_json::{Value, json};

/// Time that a probe waits for a response. Kubernetes' default of one second fails on a machine that is busy, and pods
/// come and go as endpoints.
pub(crate) const PROBE_SECONDS: u8 = 5;

/// Tolerations of pods that a node needs: they run on all nodes, including nodes that are not ready or not initialized
/// by the cloud controller manager.
pub(crate) fn every_node() -> Value {
    json!([{ "operator": "Exists" }])
}

/// A DaemonSet with these tolerations; `name` is also its app label and service account, `pod` the rest of the spec.
pub(crate) fn on_every_node(name: &str, annotations: Value, mut pod: Value) -> Value {
    pod["nodeSelector"] = json!({ "kubernetes.io/os": "linux" });
    pod["priorityClassName"] = json!("system-node-critical");
    pod["serviceAccountName"] = json!(name);
    pod["tolerations"] = every_node();
    let labels = json!({ "k8s-app": name });
    let mut metadata = json!({ "labels": labels });
    if !annotations.is_null() {
        metadata["annotations"] = annotations;
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": labels },
        "spec": {
            "selector": { "matchLabels": labels },
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "10%" } },
            "template": { "metadata": metadata, "spec": pod },
        },
    })
}

/// Restarts the pods of a workload when the key that signs their tokens was rotated: the kubelet would keep a token of
/// the old key for up to an hour.
pub(crate) fn restart_for_token(object: &mut Value, number: u32) {
    if let Some(template) = object.pointer_mut("/spec/template") {
        template["metadata"]["annotations"][TOKEN_KEY] = json!(number.to_string());
    }
}

/// Restarts the pods of a workload when another CA is used: clients read those that they trust at their start.
pub(crate) fn restart_for_ca(object: &mut Value, number: u32) {
    if let Some(template) = object.pointer_mut("/spec/template") {
        template["metadata"]["annotations"][TRUSTED_CA] = json!(number.to_string());
    }
}

/// A disruption budget that evicts an app's pods one at a time.
pub(crate) fn one_by_one(name: &str, app: &str) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "maxUnavailable": 1,
            "selector": { "matchLabels": { "k8s-app": app } },
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    })
}

/// Selects nodes of pools that allow system components.
pub(crate) fn system_nodes() -> Value {
    json!({ "kubernetes.io/os": "linux", SYSTEM_COMPONENTS: "true" })
}

/// Tolerates nodes that are reserved for critical add-ons.
pub(crate) fn critical() -> Value {
    json!([{ "key": "CriticalAddonsOnly", "operator": "Exists" }])
}

/// Spreads pods over nodes and zones if possible.
pub(crate) fn spread(app: &str) -> Value {
    let over = |key: &str| {
        json!({
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": { "k8s-app": app } },
        })
    };
    json!([
        over("kubernetes.io/hostname"),
        over("topology.kubernetes.io/zone")
    ])
}

/// Security context of a container that needs no privileges.
pub(crate) fn confined() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
        "readOnlyRootFilesystem": true,
    })
}

pub(crate) fn host_path(name: &str, path: &str, type_: &str) -> Value {
    json!({ "name": name, "hostPath": { "path": path, "type": type_ } })
}

pub(crate) fn mount(name: &str, path: &str) -> Value {
    json!({ "name": name, "mountPath": path })
}

pub(crate) fn mount_read_only(name: &str, path: &str) -> Value {
    json!({ "name": name, "mountPath": path, "readOnly": true })
}

/// An environment variable with a field of the pod.
pub(crate) fn field(name: &str, path: &str) -> Value {
    json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } })
}

/// Lets clients in a host-network pod reach the API server without kube-proxy, which may not run yet.
pub(crate) fn api_server(context: &SystemContext) -> [Value; 2] {
    let address = &context.known.node_address;
    [
        json!({ "name": "KUBERNETES_SERVICE_HOST", "value": address.host }),
        json!({ "name": "KUBERNETES_SERVICE_PORT", "value": address.port.to_string() }),
    ]
}
