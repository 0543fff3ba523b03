//! What pods of several components have in common.

use super::Context;
use crate::plan::names::SYSTEM_COMPONENTS;
use serde_json::{Value, json};

/// What a node cannot serve without runs on all of them, while they are not ready and not known to the cloud
/// controller manager, too.
pub(super) fn every_node() -> Value {
    json!([{ "operator": "Exists" }])
}

/// Pools decide whether they take what serves the cluster as a whole.
pub(super) fn system_nodes() -> Value {
    json!({ "kubernetes.io/os": "linux", SYSTEM_COMPONENTS: "true" })
}

/// Nodes that are kept for what the cluster needs take it.
pub(super) fn critical() -> Value {
    json!([{ "key": "CriticalAddonsOnly", "operator": "Exists" }])
}

/// Over nodes and zones as far as there are some.
pub(super) fn spread(app: &str) -> Value {
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
pub(super) fn confined() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
        "readOnlyRootFilesystem": true,
    })
}

pub(super) fn host_path(name: &str, path: &str, type_: &str) -> Value {
    json!({ "name": name, "hostPath": { "path": path, "type": type_ } })
}

pub(super) fn mount(name: &str, path: &str) -> Value {
    json!({ "name": name, "mountPath": path })
}

pub(super) fn mount_read_only(name: &str, path: &str) -> Value {
    json!({ "name": name, "mountPath": path, "readOnly": true })
}

/// A variable with a field of the pod.
pub(super) fn field(name: &str, path: &str) -> Value {
    json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } })
}

/// Makes clients in a pod on the host's network reach the API server without kube-proxy, which may not be there yet.
pub(super) fn api_server(context: &Context) -> [Value; 2] {
    let address = &context.known.node_address;
    [
        json!({ "name": "KUBERNETES_SERVICE_HOST", "value": address.host }),
        json!({ "name": "KUBERNETES_SERVICE_PORT", "value": address.port.to_string() }),
    ]
}
