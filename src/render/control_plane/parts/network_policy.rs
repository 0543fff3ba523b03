//! Who may open connections to the pods of the control plane. What is not let in here stays out, where the network
//! of the provider keeps policies; kubelets reach the pods of their node in any case.

use crate::render::control_plane::context::Context;
use crate::state::names;
use serde_json::{Value, json};

/// Of the pods of one part: `ingress` lists who gets in.
pub(crate) fn policy(context: &Context, part: &str, ingress: Vec<Value>) -> Value {
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

/// A part that serves nobody.
pub(crate) fn closed(context: &Context, part: &str) -> Value {
    policy(context, part, Vec::new())
}

/// Lets pods of some parts of this control plane in; no part means everybody.
pub(crate) fn allow(context: &Context, parts: &[&str], ports: &[u16]) -> Value {
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
