//! Kubermatic's MachineDeployment, `cluster.k8s.io/v1alpha1`, for KubeVirt.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DnsConfig, Ignored, IntOrString, Metadata, Taint, Unused};

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
    pub(crate) replicas: Option<i32>,
    pub(crate) paused: Option<bool>,
    pub(crate) min_ready_seconds: Option<i32>,
    pub(crate) revision_history_limit: Option<i32>,
    pub(crate) progress_deadline_seconds: Option<i32>,
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
    pub(crate) metadata: Option<TemplateMetadata>,
    pub(crate) spec: MachineSpec,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TemplateMetadata {
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) name: Option<Unused>,
    pub(crate) namespace: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineSpec {
    pub(crate) metadata: Option<TemplateMetadata>,
    #[serde(default)]
    pub(crate) taints: Vec<Taint>,
    pub(crate) versions: Versions,
    pub(crate) provider_spec: ProviderSpec,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Versions {
    #[schemars(length(min = 1))]
    pub(crate) kubelet: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProviderSpec {
    pub(crate) value: ProviderSpecValue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderSpecValue {
    #[serde(default)]
    pub(crate) ssh_public_keys: Vec<String>,
    pub(crate) cloud_provider: String,
    pub(crate) cloud_provider_spec: CloudProviderSpec,
    pub(crate) operating_system: String,
    pub(crate) operating_system_spec: BTreeMap<String, Unused>,
    pub(crate) network: Option<Unused>,
    pub(crate) ca_public_key: Option<Unused>,
}

/// A value, or where it comes from
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ConfigVar {
    Text(#[schemars(schema_with = "bare")] String),
    Object(ConfigVarObject),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigVarObject {
    pub(crate) value: Option<String>,
    pub(crate) secret_key_ref: Option<Unused>,
    pub(crate) config_map_key_ref: Option<Unused>,
}

/// Kubermatic takes a bare number or truth value for a text.
fn bare(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["string", "number", "boolean"]})
}

super::one_of!(ConfigVar { Text, Object(ConfigVarObject) });

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProviderSpec {
    pub(crate) cluster_name: Option<ConfigVar>,
    #[serde(rename = "projectID")]
    pub(crate) project_id: Option<ConfigVar>,
    pub(crate) auth: Option<Auth>,
    pub(crate) virtual_machine: Option<VirtualMachine>,
    pub(crate) affinity: Option<Affinity>,
    #[serde(default)]
    pub(crate) topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Auth {
    pub(crate) kubeconfig: Option<ConfigVar>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VirtualMachine {
    pub(crate) flavor: Option<Ignored>,
    pub(crate) instancetype: Option<Matcher>,
    pub(crate) preference: Option<Matcher>,
    pub(crate) template: Option<Template>,
    pub(crate) dns_policy: Option<ConfigVar>,
    pub(crate) dns_config: Option<DnsConfig>,
    pub(crate) location: Option<Location>,
    pub(crate) provider_network: Option<Unused>,
    pub(crate) enable_network_multi_queue: Option<bool>,
    pub(crate) eviction_strategy: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Matcher {
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) revision_name: Option<String>,
    pub(crate) infer_from_volume: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Location {
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrimaryDisk {
    pub(crate) os_image: Option<ConfigVar>,
    pub(crate) source: Option<ConfigVar>,
    pub(crate) pull_method: Option<ConfigVar>,
    #[serde(default)]
    pub(crate) extra_headers: Vec<String>,
    pub(crate) extra_headers_secret_ref: Option<ConfigVar>,
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
