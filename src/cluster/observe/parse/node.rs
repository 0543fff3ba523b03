//! Parsing of nodes of a shoot.

use super::types::ParsedNode;
use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::core::node::PartialNode;
use crate::state::facts::{ConditionStatus, NodeCondition, NodeConditions, NodeInfo};
use crate::state::json::to_sparse_json;
use crate::state::names;

/// Taints that keep pods off a ready node during its start, with an explanation.
const STARTUP_TAINTS: [(&str, &str); 2] = [
    (
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node not initialized by the cloud controller manager",
    ),
    (
        "node.kubernetes.io/not-ready",
        "node has taint node.kubernetes.io/not-ready",
    ),
];

pub(super) fn parse_node(node: &PartialNode) -> ParsedNode {
    let ready = node.ready_condition();
    let is_ready = ready.is_some_and(PartialCondition::is_true);
    let metadata = node.metadata.annotation(names::POOL_METADATA);
    let roots = node.metadata.annotation(names::CERTIFICATE_AUTHORITIES);
    ParsedNode {
        created: node.metadata.created(),
        conditions: conditions(node),
        why: match (is_ready, ready) {
            (true, _) => startup_taint(node).map(Into::into),
            (false, Some(condition)) => Some(condition.message.as_str().into()),
            (false, None) => Some("kubelet has not reported a status".into()),
        },
        is_ours: node.spec.provider_id.starts_with("kubevirt://shoot--"),
        taints: node.spec.taints.iter().map(to_sparse_json).collect(),
        metadata: metadata.unwrap_or_default().into(),
        roots: roots.unwrap_or_default().into(),
        info: NodeInfo {
            is_kubelet_ready: is_ready,
            cordoned: node.spec.unschedulable,
            roles: node.roles().map(Into::into).collect(),
            kubelet_version: node.kubelet_version().into(),
            address: node.internal_ip().map(Into::into),
        },
    }
}

fn conditions(node: &PartialNode) -> NodeConditions {
    let raised = node.conditions().iter();
    let raised = raised.filter(|it| it.kind != "Ready" && !it.is_false());
    NodeConditions {
        ready: node.ready_condition().map(condition),
        // The controller manager has another reason for a kubelet that never reported.
        went_silent: node
            .ready_condition()
            .is_some_and(|it| it.reason == "NodeStatusUnknown"),
        raised: raised
            .map(|it| (it.kind.as_str().into(), condition(it)))
            .collect(),
    }
}

fn condition(condition: &PartialCondition) -> NodeCondition {
    NodeCondition {
        status: match condition {
            it if it.is_true() => ConditionStatus::True,
            it if it.is_false() => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        since: condition.since(),
    }
}

fn startup_taint(node: &PartialNode) -> Option<&'static str> {
    let mut taints = STARTUP_TAINTS.iter();
    taints.find(|it| node.has_taint(it.0)).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::json;

    #[test]
    fn a_node_has_roles_and_a_reason_for_not_being_ready() {
        let node = parse_node(&object(json!({
            "metadata": { "labels": { "node-role.kubernetes.io/worker": "", "other": "x" } },
            "spec": { "unschedulable": true },
            "status": {
                "conditions": [{ "type": "Ready", "status": "False", "message": "no network" }],
                "nodeInfo": { "kubeletVersion": "v1.33.1" },
                "addresses": [
                    { "type": "Hostname", "address": "a" },
                    { "type": "InternalIP", "address": "10.0.0.1" },
                ],
            },
        })));
        let expected = NodeInfo {
            is_kubelet_ready: false,
            cordoned: true,
            roles: ["worker".into()].into(),
            kubelet_version: "v1.33.1".into(),
            address: Some("10.0.0.1".into()),
        };
        assert_eq!(node.info, expected);
        assert_eq!(node.why.as_deref(), Some("no network"));
    }
}
