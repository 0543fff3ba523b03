//! Kubermatic's MachineDeployment, `cluster.k8s.io/v1alpha1`, for KubeVirt.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config_var::{ConfigVar, ConfigVarBool};
use crate::model::gardener::{Metadata, Taint};
use crate::model::kubevirt::DnsConfig;
use crate::model::scalar::{Duration, Ignored, IntOrString, Unused};

/// A pool of machines as Kubermatic describes it
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineDeployment {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) spec: MachineDeploymentSpec,
    pub(crate) status: Option<Ignored>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineDeploymentSpec {
    /// Machines of the pool; 1 when absent
    pub(crate) replicas: Option<i32>,
    pub(crate) paused: Option<bool>,
    pub(crate) min_ready_seconds: Option<i32>,
    pub(crate) revision_history_limit: Option<Unused>,
    pub(crate) progress_deadline_seconds: Option<Unused>,
    pub(crate) selector: Option<Ignored>,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) template: MachineDeploymentTemplate,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Strategy {
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    pub(crate) rolling_update: Option<RollingUpdate>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RollingUpdate {
    pub(crate) max_surge: Option<IntOrString>,
    pub(crate) max_unavailable: Option<IntOrString>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineDeploymentTemplate {
    pub(crate) metadata: Option<MachineMetadata>,
    pub(crate) spec: MachineSpec,
}

/// What ties Machines to the MachineDeployment; nothing does so here
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineMetadata {
    pub(crate) labels: Option<Ignored>,
    pub(crate) annotations: Option<Unused>,
    pub(crate) name: Option<Ignored>,
    pub(crate) generate_name: Option<Ignored>,
    pub(crate) namespace: Option<Ignored>,
    pub(crate) creation_timestamp: Option<Ignored>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeMetadata {
    /// Labels of the nodes
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Annotations of the nodes
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) name: Option<Unused>,
    pub(crate) generate_name: Option<Unused>,
    pub(crate) namespace: Option<Ignored>,
    pub(crate) creation_timestamp: Option<Ignored>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineSpec {
    pub(crate) metadata: Option<NodeMetadata>,
    #[serde(default)]
    pub(crate) taints: Vec<Taint>,
    pub(crate) versions: Versions,
    pub(crate) provider_spec: ProviderSpec,
    /// How long draining may take before a machine goes all the same
    pub(crate) node_drain_timeout: Option<Duration>,
    pub(crate) config_source: Option<Unused>,
    #[serde(rename = "providerID")]
    pub(crate) provider_id: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Versions {
    /// Has to be the Shoot's Kubernetes version
    #[schemars(length(min = 1))]
    pub(crate) kubelet: String,
    pub(crate) control_plane: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProviderSpec {
    pub(crate) value: ProviderSpecValue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderSpecValue {
    /// Public keys that may log in to the machines
    #[serde(default)]
    pub(crate) ssh_public_keys: Vec<String>,
    #[schemars(length(min = 1))]
    pub(crate) cloud_provider: String,
    pub(crate) cloud_provider_spec: CloudProviderSpec,
    /// ubuntu, rhel or rockylinux
    #[schemars(length(min = 1))]
    pub(crate) operating_system: String,
    pub(crate) operating_system_spec: OperatingSystemSpec,
    pub(crate) network: Option<Unused>,
    pub(crate) ca_public_key: Option<Unused>,
    pub(crate) overwrite_cloud_config: Option<Unused>,
}

/// The settings of all operating systems
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperatingSystemSpec {
    /// Bring all packages up to date when a machine boots first
    pub(crate) dist_upgrade_on_boot: Option<bool>,
    pub(crate) disable_auto_update: Option<Ignored>,
    pub(crate) disable_locksmith_d: Option<Ignored>,
    pub(crate) disable_update_engine: Option<Ignored>,
    pub(crate) provisioning_utility: Option<Ignored>,
    pub(crate) attach_subscription: Option<Unused>,
    pub(crate) rhel_subscription_manager_user: Option<Unused>,
    pub(crate) rhel_subscription_manager_password: Option<Unused>,
    pub(crate) rhel_organization_name: Option<Unused>,
    pub(crate) rhel_activation_key: Option<Unused>,
    pub(crate) rhel_use_satellite_server: Option<Unused>,
    pub(crate) rhel_satellite_server: Option<Unused>,
    pub(crate) rhsm_offline_token: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProviderSpec {
    /// Which Shoot the pool belongs to, when there are several: by name or technical ID
    pub(crate) cluster_name: Option<ConfigVar>,
    #[serde(rename = "projectID")]
    pub(crate) project_id: Option<Unused>,
    pub(crate) auth: Option<Auth>,
    pub(crate) virtual_machine: Option<VirtualMachine>,
    pub(crate) affinity: Option<Affinity>,
    #[serde(default)]
    pub(crate) topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Auth {
    /// kubeconfig of the provider cluster in base64, for when neither flags nor environment say where that is
    pub(crate) kubeconfig: Option<ConfigVar>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VirtualMachine {
    /// The older form of instancetype
    pub(crate) flavor: Option<Flavor>,
    pub(crate) instancetype: Option<Matcher>,
    pub(crate) preference: Option<Matcher>,
    pub(crate) template: Option<Template>,
    pub(crate) dns_policy: Option<ConfigVar>,
    pub(crate) dns_config: Option<DnsConfig>,
    pub(crate) location: Option<Location>,
    pub(crate) provider_network: Option<ProviderNetwork>,
    /// A queue of the network card for each CPU; true when absent
    pub(crate) enable_network_multi_queue: Option<ConfigVarBool>,
    /// External or LiveMigrate; External when absent
    pub(crate) eviction_strategy: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Matcher {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) revision_name: Option<Unused>,
    pub(crate) infer_from_volume: Option<Unused>,
    pub(crate) infer_from_volume_failure_policy: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Flavor {
    /// Name of an instancetype
    pub(crate) name: Option<ConfigVar>,
    pub(crate) profile: Option<Unused>,
}

/// A network of Kube-OVN
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProviderNetwork {
    pub(crate) name: Option<Ignored>,
    pub(crate) vpc: Option<Vpc>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Vpc {
    pub(crate) name: Option<Ignored>,
    pub(crate) subnet: Option<Subnet>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Subnet {
    /// Subnet that the machines have their addresses from
    pub(crate) name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Location {
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Template {
    pub(crate) cpus: Option<ConfigVar>,
    pub(crate) memory: Option<ConfigVar>,
    pub(crate) vcpus: Option<Vcpus>,
    pub(crate) primary_disk: Option<PrimaryDisk>,
    #[serde(default)]
    pub(crate) secondary_disks: Vec<SecondaryDisk>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Vcpus {
    pub(crate) cores: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrimaryDisk {
    pub(crate) os_image: Option<ConfigVar>,
    pub(crate) source: Option<ConfigVar>,
    pub(crate) pull_method: Option<ConfigVar>,
    #[serde(default)]
    pub(crate) extra_headers: Vec<String>,
    pub(crate) extra_headers_secret_ref: Option<ConfigVar>,
    pub(crate) data_volume_secret_ref: Option<ConfigVar>,
    pub(crate) storage_target: Option<ConfigVar>,
    pub(crate) size: Option<ConfigVar>,
    pub(crate) storage_class_name: Option<ConfigVar>,
    pub(crate) storage_access_type: Option<ConfigVar>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecondaryDisk {
    pub(crate) size: Option<ConfigVar>,
    pub(crate) storage_class_name: Option<ConfigVar>,
    pub(crate) storage_access_type: Option<ConfigVar>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Affinity {
    pub(crate) pod_affinity_preset: Option<ConfigVar>,
    pub(crate) pod_anti_affinity_preset: Option<ConfigVar>,
    pub(crate) node_affinity_preset: Option<NodeAffinityPreset>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeAffinityPreset {
    #[serde(rename = "type")]
    pub(crate) type_: Option<ConfigVar>,
    pub(crate) key: Option<ConfigVar>,
    #[serde(default)]
    pub(crate) values: Vec<ConfigVar>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopologySpreadConstraint {
    pub(crate) max_skew: Option<ConfigVar>,
    pub(crate) topology_key: Option<ConfigVar>,
    pub(crate) when_unsatisfiable: Option<ConfigVar>,
}
