//! Small objects that several components use: service accounts, RBAC objects and ConfigMaps.

use crate::state::hash::Hash;
use serde_json::{Map, Value, json};

pub(crate) const NAMESPACE: &str = "kube-system";

/// Verbs of a controller that only reads.
pub(crate) const READ: [&str; 3] = ["get", "list", "watch"];

const RBAC: &str = "rbac.authorization.k8s.io";

pub(crate) fn service_account(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": NAMESPACE } })
}

pub(crate) fn config_map(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "data": data,
    })
}

/// Annotation of a pod template with its ConfigMap's checksum, so that pods roll when the content changes.
pub(crate) fn checksum(config_map: &Value) -> Value {
    let name = config_map["metadata"]["name"].as_str().unwrap_or_default();
    let hash = Hash::of(&config_map["data"]).to_string();
    Value::Object(Map::from_iter([(format!("checksum/{name}"), json!(hash))]))
}

/// A rule of a role, for resources of one API group.
pub(crate) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
}

/// Limits a rule to objects with these names.
pub(crate) fn rule_for(names: &[&str], mut rule: Value) -> Value {
    rule["resourceNames"] = json!(names);
    rule
}

pub(crate) fn cluster_role(name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": rules,
    })
}

pub(crate) fn role(namespace: &str, name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "Role",
        "metadata": { "name": name, "namespace": namespace },
        "rules": rules,
    })
}

pub(crate) fn cluster_role_binding(name: &str, role: &str, subjects: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": role },
        "subjects": subjects,
    })
}

/// Binds a role of the same namespace.
pub(crate) fn role_binding(namespace: &str, name: &str, role: &str, subjects: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "RoleBinding",
        "metadata": { "name": name, "namespace": namespace },
        "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": role },
        "subjects": subjects,
    })
}

pub(crate) fn user(name: &str) -> Value {
    json!({ "apiGroup": RBAC, "kind": "User", "name": name })
}

pub(crate) fn group(name: &str) -> Value {
    json!({ "apiGroup": RBAC, "kind": "Group", "name": name })
}

/// A service account of kube-system as the subject of a binding.
pub(crate) fn account(name: &str) -> Value {
    json!({ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE })
}
