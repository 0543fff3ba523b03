//! Gardener's Shoot, `core.gardener.cloud/v1beta1`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ControlPlaneConfig, Duration, InfrastructureConfig, IntOrString, Quantity, Unused, WorkerConfig,
};

/// A Kubernetes cluster and the machines that it is made of
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shoot {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) spec: ShootSpec,
    pub(crate) status: Option<Unused>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) uid: Option<Unused>,
    pub(crate) resource_version: Option<Unused>,
    pub(crate) generation: Option<Unused>,
    pub(crate) creation_timestamp: Option<Unused>,
    pub(crate) deletion_timestamp: Option<Unused>,
    pub(crate) deletion_grace_period_seconds: Option<Unused>,
    pub(crate) finalizers: Option<Unused>,
    pub(crate) owner_references: Option<Unused>,
    pub(crate) managed_fields: Option<Unused>,
    pub(crate) self_link: Option<Unused>,
    pub(crate) generate_name: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShootSpec {
    /// Name of the CloudProfile; the older form of cloudProfile.name
    pub(crate) cloud_profile_name: Option<String>,
    pub(crate) cloud_profile: Option<CloudProfileReference>,
    pub(crate) secret_binding_name: Option<String>,
    pub(crate) credentials_binding_name: Option<String>,
    /// Region of the profile
    #[schemars(length(min = 1))]
    pub(crate) region: String,
    pub(crate) purpose: Option<String>,
    pub(crate) provider: Provider,
    pub(crate) kubernetes: Kubernetes,
    pub(crate) networking: Networking,
    pub(crate) maintenance: Option<Maintenance>,
    pub(crate) hibernation: Option<Hibernation>,
    pub(crate) addons: Option<Addons>,
    pub(crate) dns: Option<Unused>,
    pub(crate) extensions: Option<Unused>,
    pub(crate) monitoring: Option<Unused>,
    pub(crate) tolerations: Option<Unused>,
    pub(crate) seed_name: Option<Unused>,
    pub(crate) seed_selector: Option<Unused>,
    pub(crate) resources: Option<Unused>,
    pub(crate) system_components: Option<Unused>,
    pub(crate) control_plane: Option<Unused>,
    pub(crate) scheduler_name: Option<Unused>,
    pub(crate) exposure_class_name: Option<Unused>,
    pub(crate) access_restrictions: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CloudProfileReference {
    pub(crate) kind: Option<String>,
    #[schemars(length(min = 1))]
    pub(crate) name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Provider {
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    pub(crate) infrastructure_config: Option<InfrastructureConfig>,
    pub(crate) control_plane_config: Option<ControlPlaneConfig>,
    pub(crate) workers_settings: Option<Unused>,
    #[serde(default)]
    pub(crate) workers: Vec<Worker>,
}

/// A pool of machines that are alike
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Worker {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) minimum: i32,
    pub(crate) maximum: i32,
    /// How many machines more than wanted there may be while the pool is rolled: a count, or percent of the pool
    pub(crate) max_surge: Option<IntOrString>,
    pub(crate) max_unavailable: Option<IntOrString>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) taints: Vec<Taint>,
    #[serde(default)]
    pub(crate) zones: Vec<String>,
    pub(crate) volume: Option<Volume>,
    #[serde(default)]
    pub(crate) data_volumes: Vec<DataVolume>,
    pub(crate) kubelet_data_volume_name: Option<String>,
    pub(crate) ca_bundle: Option<String>,
    pub(crate) cri: Option<Cri>,
    pub(crate) kubernetes: Option<WorkerKubernetes>,
    pub(crate) system_components: Option<WorkerSystemComponents>,
    pub(crate) machine_controller_manager: Option<MachineControllerManager>,
    pub(crate) provider_config: Option<WorkerConfig>,
    pub(crate) sysctls: Option<Unused>,
    pub(crate) cluster_autoscaler: Option<Unused>,
    pub(crate) priority: Option<Unused>,
    pub(crate) update_strategy: Option<Unused>,
    pub(crate) control_plane: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Machine {
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    pub(crate) image: Option<Image>,
    pub(crate) architecture: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Image {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Taint {
    pub(crate) key: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) effect: Option<String>,
    pub(crate) time_added: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Volume {
    pub(crate) name: Option<String>,
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    pub(crate) size: Option<Quantity>,
    pub(crate) encrypted: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DataVolume {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    pub(crate) size: Option<Quantity>,
    pub(crate) encrypted: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cri {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) container_runtimes: Vec<ContainerRuntime>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContainerRuntime {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) provider_config: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkerKubernetes {
    pub(crate) kubelet: Option<Kubelet>,
    pub(crate) version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubelet {
    pub(crate) max_pods: Option<i32>,
    pub(crate) fail_swap_on: Option<bool>,
    pub(crate) kube_reserved: Option<BTreeMap<String, Quantity>>,
    pub(crate) system_reserved: Option<BTreeMap<String, Quantity>>,
    #[serde(rename = "cpuCFSQuota")]
    pub(crate) cpu_cfs_quota: Option<bool>,
    pub(crate) cpu_manager_policy: Option<String>,
    pub(crate) eviction_hard: Option<BTreeMap<String, IntOrString>>,
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    pub(crate) image_gc_high_threshold_percent: Option<i32>,
    pub(crate) pod_pids_limit: Option<i64>,
    pub(crate) registry_pull_qps: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkerSystemComponents {
    pub(crate) allow: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineControllerManager {
    pub(crate) machine_drain_timeout: Option<Duration>,
    pub(crate) machine_health_timeout: Option<Duration>,
    pub(crate) machine_creation_timeout: Option<Duration>,
    pub(crate) max_evict_retries: Option<i32>,
    #[serde(default)]
    pub(crate) node_conditions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubernetes {
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    pub(crate) allow_privileged_containers: Option<bool>,
    pub(crate) kubelet: Option<Kubelet>,
    pub(crate) kube_controller_manager: Option<KubeControllerManager>,
    pub(crate) kube_proxy: Option<KubeProxy>,
    #[serde(rename = "kubeAPIServer")]
    pub(crate) kube_api_server: Option<Unused>,
    pub(crate) kube_scheduler: Option<Unused>,
    pub(crate) cluster_autoscaler: Option<Unused>,
    pub(crate) vertical_pod_autoscaler: Option<Unused>,
    pub(crate) enable_static_token_kubeconfig: Option<Unused>,
    #[serde(rename = "etcd")]
    pub(crate) etcd: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeControllerManager {
    #[serde(rename = "nodeCIDRMaskSize")]
    pub(crate) node_cidr_mask_size: Option<i32>,
    pub(crate) node_monitor_grace_period: Option<Duration>,
    pub(crate) pod_eviction_timeout: Option<Duration>,
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    pub(crate) horizontal_pod_autoscaler: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeProxy {
    pub(crate) mode: Option<String>,
    pub(crate) enabled: Option<bool>,
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Networking {
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    #[schemars(length(min = 1))]
    pub(crate) nodes: String,
    pub(crate) pods: Option<String>,
    pub(crate) services: Option<String>,
    pub(crate) provider_config: Option<Unused>,
    pub(crate) ip_families: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Maintenance {
    pub(crate) auto_update: Option<AutoUpdate>,
    pub(crate) time_window: Option<TimeWindow>,
    pub(crate) confine_spec_update_rollout: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AutoUpdate {
    pub(crate) kubernetes_version: bool,
    pub(crate) machine_image_version: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TimeWindow {
    pub(crate) begin: String,
    pub(crate) end: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Hibernation {
    pub(crate) enabled: Option<bool>,
    #[serde(default)]
    pub(crate) schedules: Vec<HibernationSchedule>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HibernationSchedule {
    pub(crate) start: Option<String>,
    pub(crate) end: Option<String>,
    pub(crate) location: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Addons {
    pub(crate) kubernetes_dashboard: Option<KubernetesDashboard>,
    pub(crate) nginx_ingress: Option<NginxIngress>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubernetesDashboard {
    pub(crate) enabled: bool,
    pub(crate) authentication_mode: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NginxIngress {
    pub(crate) enabled: bool,
    #[serde(default)]
    pub(crate) load_balancer_source_ranges: Vec<String>,
    pub(crate) config: Option<BTreeMap<String, String>>,
    pub(crate) external_traffic_policy: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretBinding {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) provider: Option<SecretBindingProvider>,
    pub(crate) secret_ref: SecretReference,
    pub(crate) quotas: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SecretBindingProvider {
    #[serde(rename = "type")]
    pub(crate) type_: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SecretReference {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Secret {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    #[serde(default)]
    pub(crate) data: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) string_data: BTreeMap<String, String>,
    pub(crate) immutable: Option<bool>,
}
