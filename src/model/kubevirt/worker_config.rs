//! The WorkerConfig: the configuration of a pool's virtual machines, and the parts of KubeVirt's API that it embeds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine_template::{
    AffinityPresets, KubevirtMatcher, MachineLocation, MachineTemplate, TopologySpread,
};
use super::provider_config::{ProviderVersion, kinds};
use crate::model::scalar::Quantity;
use crate::model::scalar::macros::one_of;

/// Configuration of the virtual machines of a pool
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerConfig {
    /// Always kubevirt.provider.extensions.gardener.cloud/v1alpha1
    pub(crate) api_version: ProviderVersion,
    /// Always WorkerConfig
    pub(crate) kind: kinds::WorkerConfig,
    /// Disks and other devices
    pub(crate) devices: Option<Devices>,
    /// CPU topology and features
    pub(crate) cpu: Option<Cpu>,
    /// Guest memory and huge pages
    pub(crate) memory: Option<Memory>,
    /// ClusterFirst, ClusterFirstWithHostNet, Default or None
    pub(crate) dns_policy: Option<String>,
    /// DNS configuration; required with dnsPolicy None
    pub(crate) dns_config: Option<DnsConfig>,
    /// Import the root disk of every machine instead of cloning one golden volume
    #[serde(default)]
    pub(crate) disable_pre_allocated_data_volumes: bool,
    /// Do not add the virtualization overhead to the memory request
    #[serde(default)]
    pub(crate) overcommit_guest_overhead: bool,
    /// SSH public keys that can log in to the machines, as in an authorized_keys file; an extension of kvshoot
    #[serde(default)]
    pub(crate) ssh_public_keys: Vec<String>,
    /// Cloud-config, as a string, that is merged into that of the machines; stored in Secrets; an extension of kvshoot
    pub(crate) user_data: Option<String>,
    /// CPU, memory and disks that replace those of machine type, image and volume type, as in Kubermatic
    pub(crate) template: Option<Box<MachineTemplate>>,
    /// KubeVirt instancetype, which replaces CPU and memory of the machine type
    pub(crate) instancetype: Option<KubevirtMatcher>,
    /// KubeVirt preference
    pub(crate) preference: Option<KubevirtMatcher>,
    /// Affinity of the machines to each other and to provider nodes
    pub(crate) affinity: Option<AffinityPresets>,
    /// How the machines are spread; over the provider nodes with ScheduleAnyway when absent
    #[serde(default)]
    pub(crate) topology_spread_constraints: Vec<TopologySpread>,
    /// How a machine leaves a provider node that is drained: External (migrated or replaced by `kvshoot evacuate`) or LiveMigrate; External when absent
    pub(crate) eviction_strategy: Option<String>,
    /// Region and zone labels of the machines
    pub(crate) location: Option<MachineLocation>,
    /// Kube-OVN subnet that assigns the addresses of the machines
    #[schemars(length(min = 1))]
    pub(crate) subnet: Option<String>,
}

/// Disks and other devices of a virtual machine
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Devices {
    /// Settings of the disks, by name
    #[serde(default)]
    pub(crate) disks: Vec<Disk>,
    /// Random number generator
    pub(crate) rng: Option<Empty>,
    /// One queue for each CPU on every disk
    #[serde(default)]
    pub(crate) block_multi_queue: bool,
    /// One network queue for each CPU
    #[serde(default)]
    pub(crate) network_interface_multiqueue: bool,
    /// Alternative spelling of networkInterfaceMultiqueue
    #[serde(default)]
    pub(crate) network_interface_multi_queue: bool,
    /// GPUs of the host that the machine gets
    #[serde(default)]
    pub(crate) gpus: Vec<HostDevice>,
    /// Other devices of the host that the machine gets
    #[serde(default)]
    pub(crate) host_devices: Vec<HostDevice>,
}

/// A device of the host, as permitted by permittedHostDevices of the KubeVirt object
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostDevice {
    /// Name of the device in the machine
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Name of the resource, for example nvidia.com/TU104GL_Tesla_T4
    #[schemars(length(min = 1))]
    pub(crate) device_name: String,
}

/// An object without fields; its presence has a meaning
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("properties" = {}))]
pub(crate) struct Empty {}

/// KubeVirt Disk; passed through unchanged
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Disk {
    /// Name of the disk: root-disk, or that of a data volume
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Attach as a disk
    pub(crate) disk: Option<DiskTarget>,
    /// Attach as a LUN
    pub(crate) lun: Option<LunTarget>,
    /// Attach as a CD-ROM
    pub(crate) cdrom: Option<CdRomTarget>,
    /// Must not be set: machines always boot from root-disk
    pub(crate) boot_order: Option<u32>,
    /// Cache mode: none, writethrough or writeback
    pub(crate) cache: Option<String>,
    /// I/O mode: native or threads
    pub(crate) io: Option<String>,
    /// Serial number
    pub(crate) serial: Option<String>,
    /// Tag in the device metadata
    pub(crate) tag: Option<String>,
    /// Use a dedicated I/O thread
    #[serde(rename = "dedicatedIOThread")]
    pub(crate) dedicated_io_thread: Option<bool>,
    /// Specifies whether several machines can attach the disk
    pub(crate) shareable: Option<bool>,
    /// Error policy: stop, ignore, report or enospace
    pub(crate) error_policy: Option<String>,
}

/// A disk
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiskTarget {
    /// Bus: virtio, sata or scsi
    pub(crate) bus: Option<String>,
    /// PCI address
    pub(crate) pci_address: Option<String>,
    /// Attach read-only
    pub(crate) readonly: Option<bool>,
}

/// A LUN
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LunTarget {
    /// Bus: virtio, sata or scsi
    pub(crate) bus: Option<String>,
    /// Attach read-only
    pub(crate) readonly: Option<bool>,
    /// Allow SCSI persistent reservations
    pub(crate) reservation: Option<bool>,
}

/// A CD-ROM
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CdRomTarget {
    /// Bus: sata or scsi
    pub(crate) bus: Option<String>,
    /// Attach read-only
    pub(crate) readonly: Option<bool>,
    /// Tray state: open or closed
    pub(crate) tray: Option<String>,
}

/// CPU topology and features of a virtual machine
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cpu {
    /// Number of cores
    pub(crate) cores: Option<u32>,
    /// Number of sockets
    pub(crate) sockets: Option<u32>,
    /// Number of threads of each core
    pub(crate) threads: Option<u32>,
    /// Maximum number of sockets for hot-plugging
    pub(crate) max_sockets: Option<u32>,
    /// CPU model, such as host-model or host-passthrough
    pub(crate) model: Option<String>,
    /// CPU features
    #[serde(default)]
    pub(crate) features: Vec<CpuFeature>,
    /// Pin the CPUs to dedicated physical CPUs
    pub(crate) dedicated_cpu_placement: Option<bool>,
    /// Use a dedicated physical CPU for the emulator; requires dedicatedCpuPlacement
    pub(crate) isolate_emulator_thread: Option<bool>,
    /// NUMA topology
    pub(crate) numa: Option<Numa>,
    /// Real-time scheduling
    pub(crate) realtime: Option<Realtime>,
}

/// An object, or a name
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CpuFeature {
    Name(String),
    Object(CpuFeatureObject),
}

/// A CPU feature and its policy
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CpuFeatureObject {
    /// Name of the feature
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// force, require, optional, disable or forbid; require when absent
    pub(crate) policy: Option<String>,
}

one_of!(CpuFeature { Name, Object(CpuFeatureObject) });

/// NUMA topology of a virtual machine
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Numa {
    /// Pass the NUMA topology of the host through to the machine
    pub(crate) guest_mapping_passthrough: Option<Empty>,
}

/// Real-time scheduling of virtual CPUs
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Realtime {
    /// Virtual CPUs with real-time scheduling; all when absent
    pub(crate) mask: Option<String>,
}

/// Memory of a virtual machine
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Memory {
    /// Back the memory with huge pages
    pub(crate) hugepages: Option<Hugepages>,
    /// Memory visible in the machine
    pub(crate) guest: Option<Quantity>,
    /// Maximum memory for hot-plugging
    pub(crate) max_guest: Option<Quantity>,
}

/// Huge pages
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hugepages {
    /// Page size, such as 2Mi or 1Gi
    pub(crate) page_size: Option<String>,
}

/// DNS configuration
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DnsConfig {
    /// IP addresses of DNS servers
    #[serde(default)]
    pub(crate) nameservers: Vec<String>,
    /// DNS search domains
    #[serde(default)]
    pub(crate) searches: Vec<String>,
    /// Options of the resolver
    #[serde(default)]
    pub(crate) options: Vec<DnsOption>,
}

/// An option of the DNS resolver
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DnsOption {
    /// Name of the option, such as ndots
    pub(crate) name: Option<String>,
    /// Value of the option
    pub(crate) value: Option<String>,
}
