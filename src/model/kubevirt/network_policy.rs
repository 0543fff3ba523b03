//! Custom NetworkPolicies, as in `networking.k8s.io/v1`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::scalar::IntOrString;

/// A NetworkPolicy in the provider namespace, in addition to those of kvshoot
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CustomNetworkPolicy {
    /// Suffix of the object name, after the technical ID of the cluster
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// NetworkPolicySpec of Kubernetes; passed through unchanged
    pub(crate) spec: NetworkPolicySpec,
}

/// NetworkPolicySpec of Kubernetes
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkPolicySpec {
    /// Pods that the policy applies to; all pods of the namespace when empty or absent
    pub(crate) pod_selector: Option<PodSelector>,
    /// Ingress, Egress or both; when absent Ingress, and Egress if there are egress rules
    #[serde(default)]
    pub(crate) policy_types: Vec<String>,
    /// Allowed connections to the pods; none when empty
    #[serde(default)]
    pub(crate) ingress: Vec<IngressRule>,
    /// Allowed connections from the pods; none when empty
    #[serde(default)]
    pub(crate) egress: Vec<EgressRule>,
}

/// Connections from any of the peers to any of the ports
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct IngressRule {
    /// Allowed sources; all when absent
    #[serde(default)]
    pub(crate) from: Vec<PolicyPeer>,
    /// Allowed ports; all when absent
    #[serde(default)]
    pub(crate) ports: Vec<PolicyPort>,
}

/// Connections to any of the peers on any of the ports
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EgressRule {
    /// Allowed destinations; all when absent
    #[serde(default)]
    pub(crate) to: Vec<PolicyPeer>,
    /// Allowed ports; all when absent
    #[serde(default)]
    pub(crate) ports: Vec<PolicyPort>,
}

/// Pods, or an address range
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyPeer {
    /// Pods of the namespace, or of those that namespaceSelector selects
    pub(crate) pod_selector: Option<PodSelector>,
    /// Namespaces; all when empty
    pub(crate) namespace_selector: Option<PodSelector>,
    /// Address range; excludes both selectors
    pub(crate) ip_block: Option<IpBlock>,
}

/// An address range with exceptions
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct IpBlock {
    /// Address range such as 192.0.2.0/24 or 2001:db8::/32
    #[schemars(length(min = 1))]
    pub(crate) cidr: String,
    /// Subranges of cidr that are excluded
    #[serde(default)]
    pub(crate) except: Vec<String>,
}

/// A port or a range of ports
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyPort {
    /// TCP, UDP or SCTP; TCP when absent
    pub(crate) protocol: Option<String>,
    /// Number, or name of a container port; all when absent
    pub(crate) port: Option<IntOrString>,
    /// Last port of a range that starts with port
    pub(crate) end_port: Option<i32>,
}

/// LabelSelector of Kubernetes; all requirements must match
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodSelector {
    /// Labels with the given values
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) match_labels: BTreeMap<String, String>,
    /// Requirements on labels
    #[serde(default)]
    pub(crate) match_expressions: Vec<LabelExpression>,
}

/// A requirement on a label
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LabelExpression {
    /// Key of the label
    #[schemars(length(min = 1))]
    pub(crate) key: String,
    /// In, NotIn, Exists or DoesNotExist
    #[schemars(length(min = 1))]
    pub(crate) operator: String,
    /// Values for In and NotIn
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

impl PodSelector {
    /// Returns true if it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }
}
