//! What Kubermatic lets a machine be, as parts of a pool's WorkerConfig.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::scalar::Quantity;

/// Name of the disk that every machine boots from, in the VM and in `devices.disks`; no data volume may have it.
pub(crate) const ROOT_DISK: &str = "root-disk";

/// CPU, memory and disks of the machines, in place of what machine type, image and volume type say
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineTemplate {
    /// CPU that the provider reserves and that the machine may use at most; excludes vcpus
    pub(crate) cpus: Option<Quantity>,
    /// CPUs that the machine sees; how much of them is reserved, KubeVirt decides
    pub(crate) vcpus: Option<VirtualCpus>,
    /// Memory of the machine; required with cpus and vcpus
    pub(crate) memory: Option<Quantity>,
    /// The disk that machines boot from
    pub(crate) primary_disk: Option<RootDisk>,
    /// Further disks, blank; at most 3
    #[serde(default)]
    pub(crate) secondary_disks: Vec<SecondaryDiskTemplate>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VirtualCpus {
    pub(crate) cores: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RootDisk {
    /// URL of an image, or NAME or NAMESPACE/NAME of a claim that machines clone
    #[schemars(length(min = 1))]
    pub(crate) os_image: Option<String>,
    /// What osImage is: http, registry or pvc; told by its form when absent
    pub(crate) source: Option<String>,
    /// Who pulls an image of a registry: node or pod; node when absent
    pub(crate) pull_method: Option<String>,
    /// Secret of the provider namespace with accessKeyId and secretKey for an http source, or a registry
    pub(crate) data_volume_secret_ref: Option<String>,
    /// Headers for an http source, such as `Accept: application/octet-stream`; not for secrets
    #[serde(default)]
    pub(crate) extra_headers: Vec<String>,
    /// Secret of the provider namespace whose values are whole headers for an http source
    pub(crate) extra_headers_secret_ref: Option<String>,
    /// The volume's size when absent
    pub(crate) size: Option<Quantity>,
    /// StorageClass of the provider; that of the volume type when absent
    #[schemars(length(min = 1))]
    pub(crate) storage_class_name: Option<String>,
    /// ReadWriteOnce, ReadWriteMany or ReadWriteOncePod; what the StorageProfile of the class says when absent
    pub(crate) storage_access_type: Option<String>,
    /// How the DataVolume asks for it: storage, which CDI completes, or pvc, verbatim; storage when absent
    pub(crate) storage_target: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecondaryDiskTemplate {
    pub(crate) size: Quantity,
    /// StorageClass of the provider; that of the root disk when absent
    #[schemars(length(min = 1))]
    pub(crate) storage_class_name: Option<String>,
    /// ReadWriteOnce, ReadWriteMany or ReadWriteOncePod; what the StorageProfile of the class says when absent
    pub(crate) storage_access_type: Option<String>,
}

/// An instancetype or a preference of KubeVirt
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KubevirtMatcher {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Of the namespace, as VirtualMachineInstancetype and VirtualMachinePreference are: kept there by somebody, a template, or a standard one; or of the cluster. Looked for in that order when absent
    pub(crate) kind: Option<String>,
}

/// Which machines and hosts the machines of a pool need, or prefer, to be near
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AffinityPresets {
    /// All machines of the pool on one host: soft or hard; excludes podAntiAffinityPreset
    pub(crate) pod_affinity_preset: Option<String>,
    /// Each machine of the pool on a host of its own: soft or hard
    pub(crate) pod_anti_affinity_preset: Option<String>,
    /// Hosts with a label
    pub(crate) node_affinity_preset: Option<NodeLabelPreset>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeLabelPreset {
    /// soft or hard
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    /// Label of the hosts
    pub(crate) key: Option<String>,
    /// Values that the label may have; any when there are none
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

/// How evenly the machines of a pool are spread
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopologySpread {
    /// How many machines more there may be in one place than in another; at least 1
    pub(crate) max_skew: i32,
    /// Label of the hosts that says what a place is, such as kubernetes.io/hostname
    #[schemars(length(min = 1))]
    pub(crate) topology_key: String,
    /// DoNotSchedule or ScheduleAnyway
    #[schemars(length(min = 1))]
    pub(crate) when_unsatisfiable: String,
}

/// Labels of the machines that say where they are; they place nothing, which zones do
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineLocation {
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
}
