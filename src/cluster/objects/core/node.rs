//! Nodes.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialNode {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: NodeSpec,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSpec {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    /// Address range of its pods; empty if the pod network does not publish it.
    #[serde(rename = "podCIDR")]
    pub(crate) pod_cidr: String,
    pub(crate) unschedulable: bool,
    pub(crate) taints: Vec<PartialTaint>,
}

/// All fields of a taint: a patch has to repeat those of others.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialTaint {
    pub(crate) key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_added: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeStatus {
    conditions: Vec<PartialCondition>,
    addresses: Vec<NodeAddress>,
    node_info: NodeSystemInfo,
}

#[derive(Debug, Clone, Deserialize)]
struct NodeAddress {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeSystemInfo {
    kubelet_version: String,
}

impl PartialNode {
    /// Readiness reported by its kubelet; None before its first report.
    pub(crate) fn ready_condition(&self) -> Option<&PartialCondition> {
        PartialCondition::find(&self.status.conditions, "Ready")
    }

    pub(crate) fn conditions(&self) -> &[PartialCondition] {
        &self.status.conditions
    }

    /// False if pods without tolerations are not scheduled to it.
    pub(crate) fn accepts_pods(&self) -> bool {
        let keeps_off =
            |it: &PartialTaint| matches!(it.effect.as_deref(), Some("NoSchedule" | "NoExecute"));
        !self.spec.unschedulable && !self.spec.taints.iter().any(keeps_off)
    }

    pub(crate) fn has_taint(&self, key: &str) -> bool {
        self.spec.taints.iter().any(|it| it.key == key)
    }

    /// Roles that kubectl shows.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &str> {
        let labels = self.metadata.labels.keys();
        labels.filter_map(|it| it.strip_prefix("node-role.kubernetes.io/"))
    }

    pub(crate) fn internal_ip(&self) -> Option<&str> {
        let mut addresses = self.status.addresses.iter();
        let address = addresses.find(|it| it.kind == "InternalIP")?;
        Some(&address.address)
    }

    pub(crate) fn kubelet_version(&self) -> &str {
        &self.status.node_info.kubelet_version
    }
}
