//! Patches with the metadata that a pool sets on its nodes and machines.

use crate::state::facts::ObservedNode;
use crate::state::names;
use crate::validate::PoolSpec;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The role shown by `kubectl get nodes`; kubelets may not set it themselves.
pub(crate) const ROLE: &str = "node-role.kubernetes.io/worker";
/// Namespace of the machine in the provider cluster, read by the CSI driver.
pub(crate) const NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";

/// A merge patch: the pool's metadata, and null for what it no longer sets. Taints of others stay.
pub(crate) fn patch(node: &ObservedNode, namespace: &str, pool: &PoolSpec, wanted: &str) -> Value {
    let before: Value = serde_json::from_str(&node.metadata).unwrap_or_default();
    let mut labels = merged(&before["labels"], &pool.labels);
    labels.insert(ROLE.into(), json!(""));
    // Its kubelet sets the label only when it joins.
    match pool.system_components {
        false => labels.insert(names::SYSTEM_COMPONENTS.into(), Value::Null),
        true if before["systemComponents"] == false => {
            labels.insert(names::SYSTEM_COMPONENTS.into(), json!("true"))
        }
        true => None,
    };
    let mut annotations = merged(&before["annotations"], &pool.annotations);
    annotations.insert(NAMESPACE.into(), json!(namespace));
    annotations.insert(names::POOL_METADATA.into(), json!(wanted));
    json!({
        "metadata": { "labels": labels, "annotations": annotations },
        "spec": { "taints": taints(node, &before["taints"], pool) },
    })
}

/// New values, and null for values set before and no longer wanted. kvshoot's own labels are left out.
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

fn taints(node: &ObservedNode, before: &Value, pool: &PoolSpec) -> Vec<Value> {
    let is_same =
        |one: &Value, other: &Value| one["key"] == other["key"] && one["effect"] == other["effect"];
    let wanted: Vec<Value> = pool
        .taints
        .iter()
        .map(crate::state::json::to_sparse_json)
        .collect();
    let before = before.as_array().map(Vec::as_slice).unwrap_or_default();
    let ours = |taint: &Value| before.iter().chain(&wanted).any(|one| is_same(one, taint));
    let others = node.taints.iter().filter(|it| !ours(it)).cloned();
    others.chain(wanted.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::desired::pool_metadata;
    use crate::state::testing::node;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    #[test]
    fn the_label_of_system_components_follows_the_manifest() {
        let without = "systemComponents: {allow: false}\n      minimum: 1";
        // A shoot needs a pool with them.
        let (head, pool) = SHOOT.split_once("    - name: cpu").expect("a pool");
        let other = pool.replace("minimum: 1", without);
        let both = format!("{head}    - name: cpu{pool}    - name: other{other}");
        let shoot = valid_for_tests(&both);
        let [allowed, refused] = &shoot.pools[..] else {
            panic!("two pools");
        };
        let label = |before: &PoolSpec, now: &PoolSpec| {
            let node = ObservedNode {
                metadata: pool_metadata(before).into(),
                ..node()
            };
            let patch = patch(&node, "ns", now, &pool_metadata(now));
            let labels = patch["metadata"]["labels"].as_object().cloned();
            labels.and_then(|it| it.get(names::SYSTEM_COMPONENTS).cloned())
        };
        assert_eq!(label(allowed, allowed), None);
        assert_eq!(label(allowed, refused), Some(Value::Null));
        assert_eq!(label(refused, allowed), Some(json!("true")));
    }
}
