//! Ingress rules for the control plane's pods. Everything else is blocked if the provider's network enforces policies;
//! kubelets can always reach the pods of their node.

use super::Context;
use crate::plan::names;
use serde_json::{Value, json};

/// A policy for the pods of one component, with these ingress rules.
pub(super) fn policy(context: &Context, part: &str, ingress: Vec<Value>) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": context.name(part) },
        "spec": {
            "podSelector": { "matchLabels": context.selector(part) },
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    })
}

/// A policy for a component that accepts no connections.
pub(super) fn closed(context: &Context, part: &str) -> Value {
    policy(context, part, Vec::new())
}

/// Allows ingress from these components of the control plane, or from anywhere if `parts` is empty.
pub(super) fn allow(context: &Context, parts: &[&str], ports: &[u16]) -> Value {
    let ports = ports
        .iter()
        .map(|it| json!({ "port": it, "protocol": "TCP" }));
    let mut rule = json!({ "ports": ports.collect::<Value>() });
    if !parts.is_empty() {
        rule["from"] = json!([{
            "podSelector": {
                "matchLabels": { names::PART_OF: context.shoot.id },
                "matchExpressions": [
                    { "key": names::COMPONENT, "operator": "In", "values": parts },
                ],
            },
        }]);
    }
    rule
}
