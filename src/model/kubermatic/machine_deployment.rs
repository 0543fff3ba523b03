//! Kubermatic's MachineDeployment, `cluster.k8s.io/v1alpha1`, for KubeVirt.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config_var::{ConfigVar, ConfigVarBool};
use crate::model::gardener::{Metadata, Taint};
use crate::model::kubevirt::DnsConfig;
use crate::model::scalar::{Duration, Ignored, IntOrString, Unused};

/// A pool of machines in Kubermatic's format
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineDeployment {
    /// Always cluster.k8s.io/v1alpha1
    pub(crate) api_version: String,
    /// Always MachineDeployment
    pub(crate) kind: String,
    /// Name of the pool
    pub(crate) metadata: Metadata,
    /// Size and configuration of the pool
    pub(crate) spec: MachineDeploymentSpec,
    pub(crate) status: Option<Ignored>,
}

/// Size and configuration of a pool
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineDeploymentSpec {
    /// Number of machines; 1 when absent
    pub(crate) replicas: Option<i32>,
    /// Must not be true: paused pools are not supported
    pub(crate) paused: Option<bool>,
    /// Ignored: a machine is available as soon as its node is ready
    pub(crate) min_ready_seconds: Option<i32>,
    /// No effect: kvshoot keeps no old revisions of machines
    pub(crate) revision_history_limit: Option<Unused>,
    /// No effect: use spec.template.spec of the Shoot pool, or --timeout of apply
    pub(crate) progress_deadline_seconds: Option<Unused>,
    pub(crate) selector: Option<Ignored>,
    /// How machines are replaced
    pub(crate) strategy: Option<Strategy>,
    /// Template of the machines
    pub(crate) template: MachineDeploymentTemplate,
}

/// How machines are replaced
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Strategy {
    /// RollingUpdate
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    /// Bounds of a rolling update
    pub(crate) rolling_update: Option<RollingUpdate>,
}

/// Bounds of a rolling update
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RollingUpdate {
    /// Maximum number of machines above replicas during a rolling update: a number, or a percentage of replicas
    pub(crate) max_surge: Option<IntOrString>,
    /// Maximum number of unavailable machines during a rolling update: a number, or a percentage of replicas
    pub(crate) max_unavailable: Option<IntOrString>,
}

/// Template of the machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineDeploymentTemplate {
    /// Labels that tie Machines to the MachineDeployment; not needed by kvshoot
    pub(crate) metadata: Option<MachineMetadata>,
    /// Configuration of the machines
    pub(crate) spec: MachineSpec,
}

/// Labels that tie Machines to the MachineDeployment; not needed by kvshoot
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineMetadata {
    pub(crate) labels: Option<Ignored>,
    /// No effect: annotations of the template are not copied to machines; use those of spec.template.spec.metadata for nodes
    pub(crate) annotations: Option<Unused>,
    pub(crate) name: Option<Ignored>,
    pub(crate) generate_name: Option<Ignored>,
    pub(crate) namespace: Option<Ignored>,
    pub(crate) creation_timestamp: Option<Ignored>,
}

/// Labels and annotations of nodes
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeMetadata {
    /// Labels of the nodes
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Annotations of the nodes
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    /// No effect: kvshoot chooses the names of machines
    pub(crate) name: Option<Unused>,
    /// No effect: kvshoot chooses the names of machines
    pub(crate) generate_name: Option<Unused>,
    pub(crate) namespace: Option<Ignored>,
    pub(crate) creation_timestamp: Option<Ignored>,
}

/// Configuration of the machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineSpec {
    /// Labels and annotations of the nodes
    pub(crate) metadata: Option<NodeMetadata>,
    /// Taints of the nodes
    #[serde(default)]
    pub(crate) taints: Vec<Taint>,
    /// Version of the kubelet
    pub(crate) versions: Versions,
    /// Configuration of the provider and the operating system
    pub(crate) provider_spec: ProviderSpec,
    /// Maximum time for draining a node; its machine is deleted after that
    pub(crate) node_drain_timeout: Option<Duration>,
    /// No effect: kubelets are configured by the Shoot
    pub(crate) config_source: Option<Unused>,
    /// No effect: the cloud controller manager sets the provider ID of a node
    #[serde(rename = "providerID")]
    pub(crate) provider_id: Option<Unused>,
}

/// Version of the kubelet
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Versions {
    /// Kubernetes version of the pool: that of the Shoot, or at most three minor versions older
    #[schemars(length(min = 1))]
    pub(crate) kubelet: String,
    /// No effect: the version of the control plane is that of the Shoot
    pub(crate) control_plane: Option<Unused>,
}

/// Configuration of the provider and the operating system
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProviderSpec {
    /// Configuration of the provider and the operating system
    pub(crate) value: ProviderSpecValue,
}

/// Configuration of the provider and the operating system
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderSpecValue {
    /// SSH public keys that can log in to the machines
    #[serde(default)]
    pub(crate) ssh_public_keys: Vec<String>,
    /// Always kubevirt
    #[schemars(length(min = 1))]
    pub(crate) cloud_provider: String,
    /// Virtual machine and its placement
    pub(crate) cloud_provider_spec: CloudProviderSpec,
    /// One of ubuntu, rhel and rockylinux
    #[schemars(length(min = 1))]
    pub(crate) operating_system: String,
    /// Settings of the operating system
    pub(crate) operating_system_spec: OperatingSystemSpec,
    /// No effect: addresses are assigned by the networks of the machines
    pub(crate) network: Option<Unused>,
    /// No effect: kvshoot configures no SSH access
    pub(crate) ca_public_key: Option<Unused>,
    /// No effect: the cloud controller manager is configured by kvshoot
    pub(crate) overwrite_cloud_config: Option<Unused>,
}

/// Settings of the operating system
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperatingSystemSpec {
    /// Upgrade all packages at the first boot
    pub(crate) dist_upgrade_on_boot: Option<bool>,
    pub(crate) disable_auto_update: Option<Ignored>,
    pub(crate) disable_locksmith_d: Option<Ignored>,
    pub(crate) disable_update_engine: Option<Ignored>,
    pub(crate) provisioning_utility: Option<Ignored>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) attach_subscription: Option<Unused>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) rhel_subscription_manager_user: Option<Unused>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) rhel_subscription_manager_password: Option<Unused>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) rhel_organization_name: Option<Unused>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) rhel_activation_key: Option<Unused>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) rhel_use_satellite_server: Option<Unused>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) rhel_satellite_server: Option<Unused>,
    /// No effect: kvshoot supports no RHEL subscriptions
    pub(crate) rhsm_offline_token: Option<Unused>,
}

/// Virtual machine and its placement
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProviderSpec {
    /// Name or technical ID of the Shoot that the pool belongs to; needed if there are several Shoots
    pub(crate) cluster_name: Option<ConfigVar>,
    /// No effect: kvshoot has no projects of Kubermatic
    #[serde(rename = "projectID")]
    pub(crate) project_id: Option<Unused>,
    /// Credentials of the provider cluster
    pub(crate) auth: Option<Auth>,
    /// CPU, memory, disks and network of the virtual machines
    pub(crate) virtual_machine: Option<VirtualMachine>,
    /// Affinity of the virtual machines to each other and to provider nodes
    pub(crate) affinity: Option<Affinity>,
    /// How the virtual machines are spread over the provider nodes
    #[serde(default)]
    pub(crate) topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

/// Credentials of the provider cluster
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Auth {
    /// kubeconfig of the provider cluster in base64; used if neither flags nor environment set one
    pub(crate) kubeconfig: Option<ConfigVar>,
}

/// CPU, memory, disks and network of the virtual machines
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VirtualMachine {
    /// Deprecated form of instancetype
    pub(crate) flavor: Option<Flavor>,
    /// Instancetype, which defines CPU and memory
    pub(crate) instancetype: Option<Matcher>,
    /// Preference, which defines defaults of devices
    pub(crate) preference: Option<Matcher>,
    /// CPU, memory and disks
    pub(crate) template: Option<Template>,
    /// DNS policy of the virtual machines, such as ClusterFirst
    pub(crate) dns_policy: Option<ConfigVar>,
    /// DNS configuration of the virtual machines
    pub(crate) dns_config: Option<DnsConfig>,
    /// Region and zone of the virtual machines; they are placed in the zone
    pub(crate) location: Option<Location>,
    /// Kube-OVN network of the virtual machines
    pub(crate) provider_network: Option<ProviderNetwork>,
    /// One network queue for each CPU; true when absent
    pub(crate) enable_network_multi_queue: Option<ConfigVarBool>,
    /// External or LiveMigrate; External when absent
    pub(crate) eviction_strategy: Option<String>,
}

/// A reference to an instancetype or a preference
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Matcher {
    /// Name of the object
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Kind of the object, such as VirtualMachineClusterInstancetype
    pub(crate) kind: Option<String>,
    /// No effect: the current revision of the instancetype or preference is used
    pub(crate) revision_name: Option<Unused>,
    /// No effect: name the instancetype or preference
    pub(crate) infer_from_volume: Option<Unused>,
    /// No effect: name the instancetype or preference
    pub(crate) infer_from_volume_failure_policy: Option<Unused>,
}

/// Deprecated reference to an instancetype
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Flavor {
    /// Name of an instancetype
    pub(crate) name: Option<ConfigVar>,
    /// No effect: name the instancetype, or set CPUs and memory
    pub(crate) profile: Option<Unused>,
}

/// A Kube-OVN network
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProviderNetwork {
    pub(crate) name: Option<Ignored>,
    /// VPC of the network
    pub(crate) vpc: Option<Vpc>,
}

/// A Kube-OVN VPC
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Vpc {
    pub(crate) name: Option<Ignored>,
    /// Subnet of the VPC
    pub(crate) subnet: Option<Subnet>,
}

/// A Kube-OVN subnet
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Subnet {
    /// Subnet that assigns the addresses of the machines
    pub(crate) name: Option<String>,
}

/// Region and zone of the machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Location {
    /// Region of the machines
    pub(crate) region: Option<String>,
    /// Zone of the machines
    pub(crate) zone: Option<String>,
}

/// CPU, memory and disks
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Template {
    /// Number of CPUs, as request and limit; excludes vcpus
    pub(crate) cpus: Option<ConfigVar>,
    /// Amount of memory
    pub(crate) memory: Option<ConfigVar>,
    /// Number of virtual CPUs; excludes cpus
    pub(crate) vcpus: Option<Vcpus>,
    /// Root disk
    pub(crate) primary_disk: Option<PrimaryDisk>,
    /// Additional blank disks; at most 3
    #[serde(default)]
    pub(crate) secondary_disks: Vec<SecondaryDisk>,
}

/// Virtual CPUs
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Vcpus {
    /// Number of cores
    pub(crate) cores: Option<u32>,
}

/// Root disk and its image
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrimaryDisk {
    /// URL of an image, or NAME or NAMESPACE/NAME of a PersistentVolumeClaim to clone
    pub(crate) os_image: Option<ConfigVar>,
    /// Kind of osImage: http, registry or pvc; derived from osImage when absent
    pub(crate) source: Option<ConfigVar>,
    /// How an image is pulled from a registry: node or pod
    pub(crate) pull_method: Option<ConfigVar>,
    /// HTTP headers for an http source
    #[serde(default)]
    pub(crate) extra_headers: Vec<String>,
    /// Secret whose values are HTTP headers for an http source
    pub(crate) extra_headers_secret_ref: Option<ConfigVar>,
    /// Secret with credentials for the source
    pub(crate) data_volume_secret_ref: Option<ConfigVar>,
    /// API of the DataVolume: storage or pvc
    pub(crate) storage_target: Option<ConfigVar>,
    /// Size of the disk
    pub(crate) size: Option<ConfigVar>,
    /// StorageClass in the provider cluster
    pub(crate) storage_class_name: Option<ConfigVar>,
    /// Access mode of the volume, such as ReadWriteOnce
    pub(crate) storage_access_type: Option<ConfigVar>,
}

/// An additional blank disk
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecondaryDisk {
    /// Size of the disk
    pub(crate) size: Option<ConfigVar>,
    /// StorageClass in the provider cluster
    pub(crate) storage_class_name: Option<ConfigVar>,
    /// Access mode of the volume, such as ReadWriteOnce
    pub(crate) storage_access_type: Option<ConfigVar>,
}

/// Affinity of the machines to each other and to provider nodes
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Affinity {
    /// All machines of the pool on one node: soft or hard
    pub(crate) pod_affinity_preset: Option<ConfigVar>,
    /// Each machine of the pool on a different node: soft or hard
    pub(crate) pod_anti_affinity_preset: Option<ConfigVar>,
    /// Provider nodes with a label
    pub(crate) node_affinity_preset: Option<NodeAffinityPreset>,
}

/// Affinity to provider nodes with a label
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeAffinityPreset {
    /// soft or hard
    #[serde(rename = "type")]
    pub(crate) type_: Option<ConfigVar>,
    /// Label of the nodes
    pub(crate) key: Option<ConfigVar>,
    /// Allowed values of the label; any value when empty
    #[serde(default)]
    pub(crate) values: Vec<ConfigVar>,
}

/// How the machines are spread
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopologySpreadConstraint {
    /// Maximum difference in machines between two topology domains
    pub(crate) max_skew: Option<ConfigVar>,
    /// Node label that defines the topology domains
    pub(crate) topology_key: Option<ConfigVar>,
    /// DoNotSchedule or ScheduleAnyway
    pub(crate) when_unsatisfiable: Option<ConfigVar>,
}
