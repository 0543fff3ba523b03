//! Nodes of the shoot: the metadata that kvshoot sets on them, and the removal of those without a machine.

use super::item::{Action, Content, Key, Kind, Plan, State, Target, Wanted};
use super::observed::{Inside, Node, Observed};
use super::shared::{removal, title};
use super::{Hash, names, token};
use crate::validate::Pool;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The role that `kubectl get nodes` shows; kubelets may not set it themselves.
const ROLE: &str = "node-role.kubernetes.io/worker";
/// The CSI driver reads the provider namespace of a node's machine from this annotation.
const NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";

/// Items for nodes and tokens that are no longer needed.
pub(super) fn add(plan: &mut Plan, observed: &Observed) {
    let facts = &observed.facts;
    if facts.inside != Inside::Observed {
        return;
    }
    let seen = facts.machines.values().flat_map(|it| it.keys());
    // Machines in flight have a token, and may have a node, before they are observed.
    let sent = observed.sent.keys().filter(|it| it.kind == Kind::Machine);
    let machines: HashSet<&Arc<str>> = seen.chain(sent.map(|it| &it.name)).collect();
    for (name, node) in &facts.nodes {
        // Nodes may also be machines that kvshoot did not create.
        if !node.is_ours || machines.contains(name) {
            continue;
        }
        let state = delete(
            Key::shoot(Kind::Node, name.clone()),
            &node.uid,
            &node.version,
        );
        let id = format!("remove/{}", node.uid);
        plan.add(
            observed,
            id.into(),
            format!("Delete node {name}"),
            [],
            state,
        );
    }
    let coming = machines.iter().filter(|it| !facts.nodes.contains_key(**it));
    let needed: HashSet<Arc<str>> = coming.map(|it| token::key(it).name).collect();
    let tokens = facts.objects.iter().filter(|it| it.0.kind == Kind::Token);
    let mut tokens: Vec<_> = tokens.filter(|it| !needed.contains(&it.0.name)).collect();
    tokens.sort_by_key(|it| it.0);
    for (key, token) in tokens {
        let id = format!("remove/{}", token.uid);
        plan.add(observed, id.into(), title(key), [], removal(key, token));
    }
}

fn delete(key: Key, uid: &Arc<str>, version: &Arc<str>) -> State {
    State::Due(Action::Delete(Target {
        key,
        uid: uid.clone(),
        version: version.clone(),
        unless_ready: false,
        drain: None,
        setback: None,
    }))
}

/// Due while a machine's node lacks the metadata of its pool.
pub(super) fn metadata(
    observed: &Observed,
    pool: &Arc<str>,
    name: &Arc<str>,
    wanted: &str,
) -> Option<State> {
    let node = observed.facts.nodes.get(name)?;
    if *node.metadata == *wanted || observed.facts.inside != Inside::Observed {
        return None;
    }
    let content = Content::Metadata {
        pool: pool.clone(),
        uid: node.uid.clone(),
    };
    Some(State::Due(Action::Apply(Wanted {
        key: Key::shoot(Kind::Node, name.clone()),
        hash: Hash::of(&wanted),
        content,
    })))
}

/// A merge patch: the pool's values, and null for values that it no longer has. Other taints stay.
pub(super) fn patch(node: &Node, namespace: &str, pool: &Pool, wanted: &str) -> Value {
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

/// The new values, and null for those that were set before and are no longer wanted. kvshoot's own keys are skipped.
pub(super) fn merged(before: &Value, now: &BTreeMap<String, String>) -> Map<String, Value> {
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
    let wanted: Vec<Value> = pool.taints.iter().map(super::object::given).collect();
    let before = before.as_array().map(Vec::as_slice).unwrap_or_default();
    let ours = |it: &Value| {
        before.iter().any(|old| is_same(old, it)) || wanted.iter().any(|new| is_same(new, it))
    };
    let others = node.taints.iter().filter(|it| !ours(it)).cloned();
    others.chain(wanted.iter().cloned()).collect()
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
