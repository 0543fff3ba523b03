//! Parts of a WorkerConfig that correspond to Kubermatic's machine settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::scalar::Quantity;

/// Name of the disk that every machine boots from, in the VM and in `devices.disks`; no data volume may have it.
pub(crate) const ROOT_DISK: &str = "root-disk";

/// CPU, memory and disks that replace those of machine type, image and volume type
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineTemplate {
    /// Number of CPUs, as request and limit; excludes vcpus
    pub(crate) cpus: Option<Quantity>,
    /// CPUs visible in the machine; KubeVirt decides how much is requested; excludes cpus
    pub(crate) vcpus: Option<VirtualCpus>,
    /// Amount of memory; required with cpus and vcpus
    pub(crate) memory: Option<Quantity>,
    /// Root disk
    pub(crate) primary_disk: Option<RootDisk>,
    /// Additional blank disks; at most 3
    #[serde(default)]
    pub(crate) secondary_disks: Vec<SecondaryDiskTemplate>,
}

/// CPUs visible in a machine
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VirtualCpus {
    /// Number of cores
    pub(crate) cores: u32,
}

/// Root disk and its image
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RootDisk {
    /// URL of an image, or NAME or NAMESPACE/NAME of a PersistentVolumeClaim to clone
    #[schemars(length(min = 1))]
    pub(crate) os_image: Option<String>,
    /// Kind of osImage: http, registry or pvc; derived from osImage when absent
    pub(crate) source: Option<String>,
    /// How an image is pulled from a registry: node or pod; node when absent
    pub(crate) pull_method: Option<String>,
    /// Secret of the provider namespace with accessKeyId and secretKey for an http or registry source
    pub(crate) data_volume_secret_ref: Option<String>,
    /// HTTP headers for an http source, such as `Accept: application/octet-stream`; not for secrets
    #[serde(default)]
    pub(crate) extra_headers: Vec<String>,
    /// Secret of the provider namespace whose values are HTTP headers for an http source
    pub(crate) extra_headers_secret_ref: Option<String>,
    /// Size of the disk; that of volume when absent
    pub(crate) size: Option<Quantity>,
    /// StorageClass in the provider cluster; that of the volume type when absent
    #[schemars(length(min = 1))]
    pub(crate) storage_class_name: Option<String>,
    /// ReadWriteOnce, ReadWriteMany or ReadWriteOncePod; that of the StorageProfile when absent
    pub(crate) storage_access_type: Option<String>,
    /// API of the DataVolume: storage, with defaults from CDI, or pvc, passed through unchanged; storage when absent
    pub(crate) storage_target: Option<String>,
}

/// An additional blank disk
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecondaryDiskTemplate {
    /// Size of the disk
    pub(crate) size: Quantity,
    /// StorageClass in the provider cluster; that of the root disk when absent
    #[schemars(length(min = 1))]
    pub(crate) storage_class_name: Option<String>,
    /// ReadWriteOnce, ReadWriteMany or ReadWriteOncePod; that of the StorageProfile when absent
    pub(crate) storage_access_type: Option<String>,
}

/// Reference to a KubeVirt instancetype or preference
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KubevirtMatcher {
    /// Name of the instancetype or preference
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// VirtualMachineInstancetype or VirtualMachinePreference for an existing, a template or a built-in object of the namespace; or the cluster-scoped kind; searched in that order when absent
    pub(crate) kind: Option<String>,
}

/// Affinity of the machines of a pool to each other and to provider nodes
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AffinityPresets {
    /// All machines of the pool on one provider node: soft or hard; excludes podAntiAffinityPreset
    pub(crate) pod_affinity_preset: Option<String>,
    /// Each machine of the pool on a different provider node: soft or hard
    pub(crate) pod_anti_affinity_preset: Option<String>,
    /// Provider nodes with a label
    pub(crate) node_affinity_preset: Option<NodeLabelPreset>,
}

/// Affinity to provider nodes with a label
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeLabelPreset {
    /// soft or hard
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    /// Label of the nodes
    pub(crate) key: Option<String>,
    /// Allowed values of the label; any value when empty
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

/// How the machines of a pool are spread
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopologySpread {
    /// Maximum difference in machines between two topology domains; at least 1
    pub(crate) max_skew: i32,
    /// Node label that defines the topology domains, such as kubernetes.io/hostname
    #[schemars(length(min = 1))]
    pub(crate) topology_key: String,
    /// DoNotSchedule or ScheduleAnyway
    #[schemars(length(min = 1))]
    pub(crate) when_unsatisfiable: String,
}

/// Region and zone labels of the machines; placement follows zones
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineLocation {
    /// Region label of the machines
    pub(crate) region: Option<String>,
    /// Zone label of the machines
    pub(crate) zone: Option<String>,
}
