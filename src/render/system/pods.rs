//! What pods of several components have in common.

use super::context::Context;
use super::objects::NAMESPACE;
use crate::state::names::SYSTEM_COMPONENTS;
use serde_json::{Value, json};

/// What a node cannot serve without runs on all of them, while they are not ready and not known to the cloud
/// controller manager, too.
pub(crate) fn every_node() -> Value {
    json!([{ "operator": "Exists" }])
}

/// A DaemonSet of such pods, named like its app and its service account; `pod` is what else their spec has.
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

/// Of an app whose pods go one by one.
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

/// Pools decide whether they take what serves the cluster as a whole.
pub(crate) fn system_nodes() -> Value {
    json!({ "kubernetes.io/os": "linux", SYSTEM_COMPONENTS: "true" })
}

/// Nodes that are kept for what the cluster needs take it.
pub(crate) fn critical() -> Value {
    json!([{ "key": "CriticalAddonsOnly", "operator": "Exists" }])
}

/// Over nodes and zones as far as there are some.
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

/// Security context of a container that needs no right at all.
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

/// A variable with a field of the pod.
pub(crate) fn field(name: &str, path: &str) -> Value {
    json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } })
}

/// Makes clients in a pod on the host's network reach the API server without kube-proxy, which may not be there yet.
pub(crate) fn api_server(context: &Context) -> [Value; 2] {
    let address = &context.known.node_address;
    [
        json!({ "name": "KUBERNETES_SERVICE_HOST", "value": address.host }),
        json!({ "name": "KUBERNETES_SERVICE_PORT", "value": address.port.to_string() }),
    ]
}
