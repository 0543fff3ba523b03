//! Gardener's Shoot, `core.gardener.cloud/v1beta1`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kubernetes::{Kubelet, Kubernetes};
use crate::model::kubevirt::{ControlPlaneConfig, InfrastructureConfig, WorkerConfig};
use crate::model::scalar::{Duration, Ignored, IntOrString, Quantity, Unused};

/// A Kubernetes cluster and the machines that it is made of
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shoot {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) spec: ShootSpec,
    pub(crate) status: Option<Ignored>,
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
    pub(crate) uid: Option<Ignored>,
    pub(crate) resource_version: Option<Ignored>,
    pub(crate) generation: Option<Ignored>,
    pub(crate) creation_timestamp: Option<Ignored>,
    pub(crate) deletion_timestamp: Option<Ignored>,
    pub(crate) deletion_grace_period_seconds: Option<Ignored>,
    pub(crate) finalizers: Option<Ignored>,
    pub(crate) owner_references: Option<Ignored>,
    pub(crate) managed_fields: Option<Ignored>,
    pub(crate) self_link: Option<Ignored>,
    pub(crate) generate_name: Option<Ignored>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShootSpec {
    /// Name of the CloudProfile; the older form of cloudProfile.name
    pub(crate) cloud_profile_name: Option<String>,
    pub(crate) cloud_profile: Option<CloudProfileReference>,
    /// SecretBinding that leads to the kubeconfig of the provider cluster; without it flags and environment do
    pub(crate) secret_binding_name: Option<String>,
    pub(crate) credentials_binding_name: Option<String>,
    /// Region of the profile
    #[schemars(length(min = 1))]
    pub(crate) region: String,
    /// One of evaluation, testing, development and production
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
    /// How available the control plane is
    pub(crate) control_plane: Option<ControlPlane>,
    pub(crate) scheduler_name: Option<Unused>,
    pub(crate) exposure_class_name: Option<Unused>,
    pub(crate) access_restrictions: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControlPlane {
    pub(crate) high_availability: Option<HighAvailability>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HighAvailability {
    pub(crate) failure_tolerance: FailureTolerance,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FailureTolerance {
    /// What may fail without an end of the control plane: none, node or zone
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
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
    /// Networks that the machines are attached to
    pub(crate) infrastructure_config: Option<InfrastructureConfig>,
    /// Settings of the cloud controller manager
    pub(crate) control_plane_config: Option<ControlPlaneConfig>,
    pub(crate) workers_settings: Option<Unused>,
    /// Pools of machines
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
    /// Fewest machines of the pool; it starts with these
    pub(crate) minimum: i32,
    /// Most machines of the pool
    pub(crate) maximum: i32,
    /// How many machines more than wanted there may be while the pool is rolled: a count, or percent of the pool
    pub(crate) max_surge: Option<IntOrString>,
    /// How many machines fewer than wanted may serve while the pool is rolled: a count, or percent of the pool
    pub(crate) max_unavailable: Option<IntOrString>,
    /// Labels of the nodes; they change in place
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) taints: Vec<Taint>,
    /// Zones of the region that the machines are spread over; new ones can be added at the end only
    #[serde(default)]
    pub(crate) zones: Vec<String>,
    /// The disk that machines boot from
    pub(crate) volume: Option<Volume>,
    /// Further disks, blank
    #[serde(default)]
    pub(crate) data_volumes: Vec<DataVolume>,
    pub(crate) kubelet_data_volume_name: Option<String>,
    pub(crate) ca_bundle: Option<String>,
    pub(crate) cri: Option<Cri>,
    pub(crate) kubernetes: Option<Box<WorkerKubernetes>>,
    pub(crate) system_components: Option<WorkerSystemComponents>,
    pub(crate) machine_controller_manager: Option<MachineControllerManager>,
    /// How the virtual machines are made
    pub(crate) provider_config: Option<Box<WorkerConfig>>,
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
    /// Operating system; the first image of the profile when absent
    pub(crate) image: Option<Image>,
    pub(crate) architecture: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Image {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Without it the newest version that is no preview is taken, and kept
    pub(crate) version: Option<String>,
    pub(crate) provider_config: Option<Unused>,
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
    pub(crate) in_place_update_timeout: Option<Unused>,
    pub(crate) disable_health_timeout: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Networking {
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Range that the machines have their addresses from: the pod network of the provider cluster, or the IPAM range of the default tenant network
    #[schemars(length(min = 1))]
    pub(crate) nodes: String,
    /// Range of the pods; 100.96.0.0/11 when absent
    pub(crate) pods: Option<String>,
    /// Range of the services; 100.64.0.0/13 when absent
    pub(crate) services: Option<String>,
    pub(crate) provider_config: Option<Unused>,
    pub(crate) ip_families: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Maintenance {
    pub(crate) auto_update: Option<AutoUpdate>,
    pub(crate) time_window: Option<TimeWindow>,
    pub(crate) auto_rotation: Option<Unused>,
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
