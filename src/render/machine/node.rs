//! What a pool puts on its nodes and machines.

use crate::state::facts::Node;
use crate::state::names;
use crate::validate::Pool;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The role that `kubectl get nodes` shows; kubelets may not give it to themselves.
pub(crate) const ROLE: &str = "node-role.kubernetes.io/worker";
/// By which the CSI driver knows which namespace of the provider cluster a node's machine is in.
pub(crate) const NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";

/// A merge patch: what the pool wants, and nothing for what it no longer wants. Taints of others stay.
pub(crate) fn patch(node: &Node, namespace: &str, pool: &Pool, wanted: &str) -> Value {
    let before: Value = serde_json::from_str(&node.metadata).unwrap_or_default();
    let mut labels = merged(&before["labels"], &pool.labels);
    labels.insert(ROLE.into(), json!(""));
    let mut annotations = merged(&before["annotations"], &pool.annotations);
    annotations.insert(NAMESPACE.into(), json!(namespace));
    annotations.insert(names::POOL_METADATA.into(), json!(wanted));
    json!({
        "metadata": { "labels": labels, "annotations": annotations },
        "spec": { "taints": taints(node, &before["taints"], pool) },
    })
}

/// What is put on, and null for what was put on before and is wanted no more; marks of ours are nobody's to give.
pub(crate) fn merged(before: &Value, now: &BTreeMap<String, String>) -> Map<String, Value> {
    let old = before.as_object().into_iter().flat_map(Map::keys);
    let old = old
        .filter(|it| !now.contains_key(*it) && !names::is_ours(it))
        .map(|it| (it.clone(), Value::Null));
    let new = now
        .iter()
        .filter(|(key, _)| !names::is_ours(key))
        .map(|(key, value)| (key.clone(), json!(value)));
    old.chain(new).collect()
}

fn taints(node: &Node, before: &Value, pool: &Pool) -> Vec<Value> {
    let is_same =
        |one: &Value, other: &Value| one["key"] == other["key"] && one["effect"] == other["effect"];
    let wanted: Vec<Value> = pool.taints.iter().map(crate::state::json::given).collect();
    let before = before.as_array().map(Vec::as_slice).unwrap_or_default();
    let ours = |it: &Value| {
        before.iter().any(|old| is_same(old, it)) || wanted.iter().any(|new| is_same(new, it))
    };
    let others = node.taints.iter().filter(|it| !ours(it)).cloned();
    others.chain(wanted.iter().cloned()).collect()
}
