//! VirtualMachineInstances of KubeVirt.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::net::IpAddr;

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
    domain: InstanceDomain,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct InstanceDomain {
    memory: GuestMemory,
    resources: DomainResources,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct GuestMemory {
    guest: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DomainResources {
    requests: DomainRequests,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DomainRequests {
    memory: Option<String>,
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
    migration_state: Option<MigrationState>,
    volume_status: Vec<InstanceVolume>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InstanceVolume {
    name: String,
    /// Only of volumes that are attached while the instance runs.
    phase: String,
    message: String,
    /// Present for volumes that are plugged into a running instance.
    hotplug_volume: Option<IgnoredAny>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MigrationState {
    completed: bool,
    failed: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InstanceInterface {
    /// That of the specification; empty for interfaces that only the guest knows.
    name: String,
    ip_address: String,
    ip_addresses: Vec<String>,
}

/// Name of the interface that the node uses, which is that of the cloud controller manager.
const NODE_INTERFACE: &str = "default";

impl InstanceInterface {
    /// An interface with several addresses lists all of them, and the first one separately.
    fn addresses(&self) -> &[String] {
        match self.ip_addresses.as_slice() {
            [] => std::slice::from_ref(&self.ip_address),
            all => all,
        }
    }
}

impl PartialVirtualMachineInstance {
    /// True while the instance moves to another host.
    pub(crate) fn is_migrating(&self) -> bool {
        let state = self.status.migration_state.as_ref();
        state.is_some_and(|it| !it.completed && !it.failed)
    }

    /// Addresses of the interface that the node uses, of all families.
    pub(crate) fn node_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let interfaces = self.status.interfaces.iter();
        let own = interfaces.filter(|it| it.name == NODE_INTERFACE);
        let addresses = own.flat_map(InstanceInterface::addresses);
        addresses.filter_map(|it| it.parse::<IpAddr>().ok().map(|it| it.to_canonical()))
    }

    /// The host that it has to leave, if that is being drained.
    pub(crate) fn evacuated_host(&self) -> Option<&str> {
        let host = self.status.evacuation_node_name.as_str();
        Some(host).filter(|it| !it.is_empty() && !self.metadata.is_deleting())
    }

    /// True if KubeVirt does not migrate it by itself when its host is drained. A VM without a strategy gets that of the
    /// cluster on its instance.
    pub(crate) fn is_evacuated_by_others(&self) -> bool {
        self.spec.eviction_strategy == "External"
    }

    /// True if KubeVirt says that it can be migrated.
    pub(crate) fn is_migratable(&self) -> bool {
        let condition = PartialCondition::find(&self.status.conditions, "LiveMigratable");
        condition.is_some_and(PartialCondition::is_true)
    }

    /// When its eviction was requested, in seconds since 1970. None if it was not, and before KubeVirt 1.7.
    pub(crate) fn eviction_requested(&self) -> Option<i64> {
        let condition = PartialCondition::find(&self.status.conditions, "EvictionRequested")?;
        Some(condition).filter(|it| it.is_true())?.since()
    }

    /// Identifies the eviction from the host that it has to leave. Later evictions differ, if KubeVirt can cancel this one.
    pub(crate) fn eviction(&self) -> Option<String> {
        let host = self.evacuated_host()?;
        let requested = self.eviction_requested().map(|it| format!(" {it}"));
        let requested = requested.unwrap_or_default();
        Some(format!("{} {host}{requested}", self.metadata.uid))
    }

    /// Memory of the guest, as a quantity.
    pub(crate) fn memory(&self) -> Option<&str> {
        let domain = &self.spec.domain;
        let requested = domain.resources.requests.memory.as_deref();
        domain.memory.guest.as_deref().or(requested)
    }

    /// Names of its volumes, with their phases and messages.
    pub(crate) fn volumes(&self) -> Vec<(String, String)> {
        let volumes = self.status.volume_status.iter().map(|it| {
            let parts = [it.phase.as_str(), it.message.as_str()];
            let state: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
            (it.name.clone(), state.join(": "))
        });
        volumes.collect()
    }

    /// Names of the volumes that were plugged in while it runs.
    pub(crate) fn plugged_volumes(&self) -> impl Iterator<Item = &str> {
        let volumes = self.status.volume_status.iter();
        let plugged = volumes.filter(|it| it.hotplug_volume.is_some());
        plugged.map(|it| &*it.name)
    }

    /// Addresses of all interfaces, in order.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        let interfaces = self.status.interfaces.iter();
        let addresses = interfaces.flat_map(InstanceInterface::addresses);
        addresses.map(String::as_str).filter(|it| !it.is_empty())
    }
}
