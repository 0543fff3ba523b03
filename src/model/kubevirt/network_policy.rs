//! NetworkPolicies that people write themselves, as `networking.k8s.io/v1` has them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::scalar::IntOrString;

/// A NetworkPolicy of the provider namespace, beside those that kvshoot makes
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CustomNetworkPolicy {
    /// What the object's name ends with, after the technical ID of the cluster
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// NetworkPolicySpec of Kubernetes, handed on as it stands
    pub(crate) spec: NetworkPolicySpec,
}

/// NetworkPolicySpec of Kubernetes
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkPolicySpec {
    /// Pods that it is for; every pod of the namespace when empty or absent
    pub(crate) pod_selector: Option<PodSelector>,
    /// Ingress, Egress or both; when absent Ingress, and Egress where there are rules of it
    #[serde(default)]
    pub(crate) policy_types: Vec<String>,
    /// Who may connect to the pods; without a rule nobody
    #[serde(default)]
    pub(crate) ingress: Vec<IngressRule>,
    /// What the pods may connect to; without a rule nothing
    #[serde(default)]
    pub(crate) egress: Vec<EgressRule>,
}

/// What comes from one of the peers to one of the ports
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct IngressRule {
    /// All when absent
    #[serde(default)]
    pub(crate) from: Vec<PolicyPeer>,
    /// All when absent
    #[serde(default)]
    pub(crate) ports: Vec<PolicyPort>,
}

/// What goes to one of the ports of one of the peers
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EgressRule {
    /// All when absent
    #[serde(default)]
    pub(crate) to: Vec<PolicyPeer>,
    /// All when absent
    #[serde(default)]
    pub(crate) ports: Vec<PolicyPort>,
}

/// Pods, or a range of addresses
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyPeer {
    /// Pods of the namespace, or of those that namespaceSelector selects
    pub(crate) pod_selector: Option<PodSelector>,
    /// Namespaces; all of them when empty
    pub(crate) namespace_selector: Option<PodSelector>,
    /// Excludes both selectors
    pub(crate) ip_block: Option<IpBlock>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct IpBlock {
    /// Such as 192.0.2.0/24 or 2001:db8::/32
    #[schemars(length(min = 1))]
    pub(crate) cidr: String,
    /// Ranges inside cidr that do not belong to it
    #[serde(default)]
    pub(crate) except: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyPort {
    /// TCP, UDP or SCTP; TCP when absent
    pub(crate) protocol: Option<String>,
    /// Number, or the name that a port has in its pod; all when absent
    pub(crate) port: Option<IntOrString>,
    /// Last port of a range that begins with port
    pub(crate) end_port: Option<i32>,
}

/// LabelSelector of Kubernetes: what has all of these labels
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodSelector {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) match_labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) match_expressions: Vec<LabelExpression>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LabelExpression {
    #[schemars(length(min = 1))]
    pub(crate) key: String,
    /// In, NotIn, Exists or DoesNotExist
    #[schemars(length(min = 1))]
    pub(crate) operator: String,
    /// For In and NotIn
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

impl PodSelector {
    /// Selects whatever there is.
    pub(crate) fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }
}
