//! VirtualMachineInstances of KubeVirt.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialVirtualMachineInstance {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    spec: VirtualMachineInstanceSpec,
    #[serde(default)]
    pub(crate) status: VirtualMachineInstanceStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VirtualMachineInstanceSpec {
    eviction_strategy: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VirtualMachineInstanceStatus {
    pub(crate) phase: String,
    /// Node of the provider cluster.
    pub(crate) node_name: Option<String>,
    evacuation_node_name: String,
    interfaces: Vec<InstanceInterface>,
    pub(crate) conditions: Vec<PartialCondition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InstanceInterface {
    ip_address: String,
    ip_addresses: Vec<String>,
}

impl PartialVirtualMachineInstance {
    /// True if its host is being drained and KubeVirt waits for its removal. KubeVirt evacuates an instance itself unless
    /// its eviction strategy is External. A VM without a strategy gets that of the cluster on its instance.
    pub(crate) fn is_evacuating(&self) -> bool {
        self.spec.eviction_strategy == "External"
            && !self.status.evacuation_node_name.is_empty()
            && !self.metadata.is_deleting()
    }

    /// Addresses of all interfaces, in order. An interface with several addresses lists all of them, and the first one
    /// separately.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        let interfaces = self.status.interfaces.iter();
        let addresses = interfaces.flat_map(|it| match it.ip_addresses.as_slice() {
            [] => std::slice::from_ref(&it.ip_address),
            all => all,
        });
        addresses.map(String::as_str).filter(|it| !it.is_empty())
    }
}
