//! Gardener's Shoot, `core.gardener.cloud/v1beta1`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kubernetes::{Kubelet, Kubernetes};
use crate::model::kubevirt::{ControlPlaneConfig, InfrastructureConfig, WorkerConfig};
use crate::model::scalar::{Duration, Ignored, IntOrString, Quantity, Unused};

/// A Kubernetes cluster and its machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shoot {
    /// Always core.gardener.cloud/v1beta1
    pub(crate) api_version: String,
    /// Always Shoot
    pub(crate) kind: String,
    /// Name and namespace of the shoot
    pub(crate) metadata: Metadata,
    /// Desired state of the shoot
    pub(crate) spec: ShootSpec,
    pub(crate) status: Option<Ignored>,
}

/// Name, namespace, labels and annotations of an object
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// Name of the object
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Namespace of the object; for a Shoot garden-PROJECT, local when absent
    pub(crate) namespace: Option<String>,
    /// Labels of the object
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Annotations of the object
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

/// Desired state of a shoot
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShootSpec {
    /// Name of the CloudProfile; deprecated form of cloudProfile.name
    pub(crate) cloud_profile_name: Option<String>,
    /// Reference to the CloudProfile
    pub(crate) cloud_profile: Option<CloudProfileReference>,
    /// SecretBinding of the provider credentials; --kubeconfig and --sandbox win, the environment does not
    pub(crate) secret_binding_name: Option<String>,
    /// CredentialsBinding of the provider credentials, in place of secretBindingName
    pub(crate) credentials_binding_name: Option<String>,
    /// Region of the CloudProfile
    #[schemars(length(min = 1))]
    pub(crate) region: String,
    /// One of evaluation, testing, development and production
    pub(crate) purpose: Option<String>,
    /// Infrastructure, control plane and worker pools
    pub(crate) provider: Provider,
    /// Kubernetes version and settings of its components
    pub(crate) kubernetes: Kubernetes,
    /// Pod network and address ranges
    pub(crate) networking: Networking,
    /// Maintenance window and automatic updates
    pub(crate) maintenance: Option<Maintenance>,
    /// Hibernation: machines are halted and the control plane is stopped
    pub(crate) hibernation: Option<Hibernation>,
    /// Optional add-ons
    pub(crate) addons: Option<Addons>,
    /// No effect: kvshoot creates no DNS records for the cluster
    pub(crate) dns: Option<Unused>,
    /// Gardener extensions; only acl has an effect
    #[serde(default)]
    pub(crate) extensions: Vec<Extension>,
    /// No effect: kvshoot installs no monitoring
    pub(crate) monitoring: Option<Unused>,
    /// No effect: they concern seed clusters, which kvshoot does not have
    pub(crate) tolerations: Option<Unused>,
    /// No effect: kvshoot has no seed clusters
    pub(crate) seed_name: Option<Unused>,
    /// No effect: kvshoot has no seed clusters
    pub(crate) seed_selector: Option<Unused>,
    /// No effect: only Gardener extensions refer to resources
    pub(crate) resources: Option<Unused>,
    /// No effect: kvshoot chooses the settings of CoreDNS and node-local DNS
    pub(crate) system_components: Option<Unused>,
    /// High availability of the control plane
    pub(crate) control_plane: Option<ControlPlane>,
    /// No effect: kvshoot has no seed clusters to schedule to
    pub(crate) scheduler_name: Option<Unused>,
    /// No effect: use controlPlaneConfig.exposure
    pub(crate) exposure_class_name: Option<Unused>,
    /// No effect: they concern seed clusters, which kvshoot does not have
    pub(crate) access_restrictions: Option<Unused>,
}

/// A Gardener extension
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Extension {
    /// Name of the extension; acl limits the addresses from which the API server is reachable
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// For acl: rule.cidrs lists the ranges of addresses, rule.action is ALLOW
    pub(crate) provider_config: Option<serde_json::Value>,
    /// Switches the extension off
    pub(crate) disabled: Option<bool>,
}

/// High availability of the control plane
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControlPlane {
    /// Failure tolerance of the control plane
    pub(crate) high_availability: Option<HighAvailability>,
}

/// Failure tolerance of the control plane
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HighAvailability {
    /// Failures that the control plane tolerates
    pub(crate) failure_tolerance: FailureTolerance,
}

/// Failures that the control plane tolerates
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FailureTolerance {
    /// One of none, node and zone
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
}

/// Reference to a CloudProfile
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CloudProfileReference {
    /// Always CloudProfile
    pub(crate) kind: Option<String>,
    /// Name of the CloudProfile
    #[schemars(length(min = 1))]
    pub(crate) name: String,
}

/// Infrastructure, control plane and worker pools
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Provider {
    /// Always kubevirt
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Networks, preallocated disks and network policies of the machines
    pub(crate) infrastructure_config: Option<InfrastructureConfig>,
    /// Exposure, etcd volume and image registry of the control plane
    pub(crate) control_plane_config: Option<ControlPlaneConfig>,
    /// No effect: it concerns SSH access, which kvshoot does not configure
    pub(crate) workers_settings: Option<Unused>,
    /// Worker pools
    #[serde(default)]
    pub(crate) workers: Vec<Worker>,
}

/// A pool of identical machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Worker {
    /// Name of the pool; at most 15 characters
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Machine type and image
    pub(crate) machine: Machine,
    /// Minimum number of machines, and the initial size of the pool
    pub(crate) minimum: i32,
    /// Maximum number of machines
    pub(crate) maximum: i32,
    /// Maximum number of machines above the pool's size during a rolling update: a number, or a percentage of the size; 1 when absent,
    /// 0 with the updateStrategy AutoInPlaceUpdate
    pub(crate) max_surge: Option<IntOrString>,
    /// Maximum number of unavailable machines during a rolling update: a number, or a percentage of the pool's size; 0 when absent, 1
    /// with the updateStrategy AutoInPlaceUpdate
    pub(crate) max_unavailable: Option<IntOrString>,
    /// Labels of the nodes; updated in place
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Annotations of the nodes; updated in place
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    /// Taints of the nodes; updated in place
    #[serde(default)]
    pub(crate) taints: Vec<Taint>,
    /// Zones that the machines are spread over; zones can only be appended
    #[serde(default)]
    pub(crate) zones: Vec<String>,
    /// Root disk of the machines
    pub(crate) volume: Option<Volume>,
    /// Additional blank disks
    #[serde(default)]
    pub(crate) data_volumes: Vec<DataVolume>,
    /// Name of the data volume that the kubelet keeps its data on, which the machine formats and mounts; the root disk when absent
    pub(crate) kubelet_data_volume_name: Option<String>,
    /// Additional CA certificates in PEM, trusted by the machines
    pub(crate) ca_bundle: Option<String>,
    /// Container runtime of the machines
    pub(crate) cri: Option<Cri>,
    /// Kubelet settings of the pool
    pub(crate) kubernetes: Option<Box<WorkerKubernetes>>,
    /// Specifies whether system components can run on the pool
    pub(crate) system_components: Option<WorkerSystemComponents>,
    /// Timeouts for creating and draining machines
    pub(crate) machine_controller_manager: Option<MachineControllerManager>,
    /// Configuration of the virtual machines
    pub(crate) provider_config: Option<Box<WorkerConfig>>,
    /// No effect: set kernel parameters in the userData of the pool's providerConfig
    pub(crate) sysctls: Option<Unused>,
    /// Settings of the cluster autoscaler for the pool
    pub(crate) cluster_autoscaler: Option<WorkerClusterAutoscaler>,
    /// The cluster autoscaler adds nodes to the pool with the highest priority that is possible; 0 when absent
    pub(crate) priority: Option<i32>,
    /// How another machine type reaches existing machines: AutoRollingUpdate replaces them, AutoInPlaceUpdate drains and restarts
    /// them one after another, with their disks; AutoRollingUpdate when absent
    pub(crate) update_strategy: Option<String>,
    /// No effect: the control plane runs in the provider cluster, not on machines
    pub(crate) control_plane: Option<Unused>,
}

impl Worker {
    /// True if the manifest leaves the size of the pool open.
    pub(crate) fn is_scalable(&self) -> bool {
        self.minimum < self.maximum
    }
}

/// Settings of the cluster autoscaler for the pool
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerClusterAutoscaler {
    /// Share of a node's CPU or memory that is requested, below which it may be removed
    pub(crate) scale_down_utilization_threshold: Option<f64>,
    /// The same for GPUs
    pub(crate) scale_down_gpu_utilization_threshold: Option<f64>,
    /// How long a node has to be unneeded before it is removed
    pub(crate) scale_down_unneeded_time: Option<Duration>,
    /// The same for a node that is not ready
    pub(crate) scale_down_unready_time: Option<Duration>,
    /// How long a node is waited for
    pub(crate) max_node_provision_time: Option<Duration>,
}

/// Machine type and image
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Machine {
    /// Name of a machine type of the CloudProfile
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Operating system image; the first one of the CloudProfile when absent
    pub(crate) image: Option<Image>,
    /// CPU architecture of the machines, which must be that of the machine type: amd64 or arm64
    pub(crate) architecture: Option<String>,
}

/// Operating system image
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Image {
    /// Name of a machine image of the CloudProfile
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Version of the image; when absent, the newest one that is not a preview is chosen and kept
    pub(crate) version: Option<String>,
    /// No effect: use the userData of the pool's providerConfig
    pub(crate) provider_config: Option<Unused>,
}

/// A taint of the nodes
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Taint {
    /// Key of the taint
    pub(crate) key: Option<String>,
    /// Value of the taint
    pub(crate) value: Option<String>,
    /// One of NoSchedule, PreferNoSchedule and NoExecute
    pub(crate) effect: Option<String>,
    /// No effect: Kubernetes sets it
    pub(crate) time_added: Option<Unused>,
}

/// Root disk of the machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Volume {
    /// No effect: the root disk is always called root-disk
    pub(crate) name: Option<String>,
    /// Name of a volume type of the CloudProfile
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    /// Size in whole Gi, such as 20Gi
    pub(crate) size: Option<Quantity>,
    /// Must not be true: use a volume type whose StorageClass encrypts
    pub(crate) encrypted: Option<bool>,
}

/// An additional blank disk
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DataVolume {
    /// Name of the disk; at most 15 characters
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Name of a volume type of the CloudProfile
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    /// Size in whole Gi, such as 20Gi
    pub(crate) size: Option<Quantity>,
    /// Must not be true: use a volume type whose StorageClass encrypts
    pub(crate) encrypted: Option<bool>,
}

/// Container runtime
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cri {
    /// Always containerd
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Must be empty: only containerd is installed
    #[serde(default)]
    pub(crate) container_runtimes: Vec<ContainerRuntime>,
}

/// A further container runtime
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContainerRuntime {
    /// Type of the runtime, such as gvisor
    #[serde(rename = "type")]
    pub(crate) type_: String,
    /// No effect: only Gardener extensions read it
    pub(crate) provider_config: Option<Unused>,
}

/// Kubelet settings of a pool
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkerKubernetes {
    /// Kubelet settings, which replace those of the shoot
    pub(crate) kubelet: Option<Kubelet>,
    /// Kubernetes version of the pool; that of the shoot when absent, and at most three minor versions older
    pub(crate) version: Option<String>,
}

/// Specifies whether system components can run on a pool
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkerSystemComponents {
    /// true to allow system components
    pub(crate) allow: bool,
}

/// Timeouts for creating and draining machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineControllerManager {
    /// Maximum time for draining a node; its machine is deleted after that; 2h when absent
    pub(crate) machine_drain_timeout: Option<Duration>,
    /// Time for which a node may be unhealthy: its machine is restarted after half of it, and replaced after all of it; 10m
    /// when absent
    pub(crate) machine_health_timeout: Option<Duration>,
    /// Maximum time from creating a machine until its node is ready; 20m when absent
    pub(crate) machine_creation_timeout: Option<Duration>,
    /// Not supported: evictions are retried until machineDrainTimeout
    pub(crate) max_evict_retries: Option<i32>,
    /// Conditions of nodes that are faults; KernelDeadlock, ReadonlyFilesystem, DiskPressure and NetworkUnavailable when
    /// absent
    #[serde(default)]
    pub(crate) node_conditions: Vec<String>,
    /// No effect: a machine that is restarted is drained for machineDrainTimeout, and then waited for
    pub(crate) in_place_update_timeout: Option<Unused>,
    /// Report unhealthy nodes, and repair nothing; false when absent
    pub(crate) disable_health_timeout: Option<bool>,
}

/// Pod network and address ranges
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Networking {
    /// Pod network: flannel, none, or a type in networkManifests of the CloudProfile
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Address range of the machines: the provider's pod network, or the IPAM range of the default tenant network
    #[schemars(length(min = 1))]
    pub(crate) nodes: String,
    /// Address range of the pods; 100.96.0.0/11 when absent
    pub(crate) pods: Option<String>,
    /// Address range of the Services; 100.64.0.0/13 when absent
    pub(crate) services: Option<String>,
    /// No effect: configure the network in the manifests of --addons or networkManifests
    pub(crate) provider_config: Option<Unused>,
    /// No effect: clusters are IPv4 only
    pub(crate) ip_families: Option<Unused>,
}

impl ShootSpec {
    /// Returns true if automatic updates install patches of Kubernetes.
    pub(crate) fn updates_kubernetes(&self) -> bool {
        self.auto_update().is_some_and(|it| it.kubernetes_version)
    }

    /// Returns true if automatic updates install images of machines.
    pub(crate) fn updates_images(&self) -> bool {
        let auto_update = self.auto_update();
        auto_update.is_some_and(|it| it.machine_image_version == Some(true))
    }

    fn auto_update(&self) -> Option<&AutoUpdate> {
        self.maintenance.as_ref()?.auto_update.as_ref()
    }
}

/// Maintenance window and automatic updates
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Maintenance {
    /// Automatic updates by kvshoot keep
    pub(crate) auto_update: Option<AutoUpdate>,
    /// Daily window in which kvshoot keep updates the cluster; at any time when absent
    pub(crate) time_window: Option<TimeWindow>,
    /// No effect: credentials are not rotated automatically
    pub(crate) auto_rotation: Option<Unused>,
    /// Specifies whether kvshoot apply refuses changes outside of the window, unless with --now
    pub(crate) confine_spec_update_rollout: Option<bool>,
}

/// Automatic updates
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AutoUpdate {
    /// Specifies whether kvshoot keep installs new patches of the minor version. A version that has expired is replaced
    /// in any case
    pub(crate) kubernetes_version: bool,
    /// Specifies whether kvshoot keep installs new versions of the images of machines. A version that has expired is
    /// replaced in any case
    pub(crate) machine_image_version: Option<bool>,
}

/// Daily maintenance window, from 30 minutes to 6 hours
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TimeWindow {
    /// Begin of the window, such as 220000+0100
    pub(crate) begin: String,
    /// End of the window, such as 230000+0100
    pub(crate) end: String,
}

/// Hibernation: machines are halted and the control plane is stopped
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Hibernation {
    /// Specifies whether the shoot hibernates. A change of it decides; until then, commands and schedules do
    pub(crate) enabled: Option<bool>,
    /// Times to hibernate and to wake, followed by kvshoot keep and by each apply
    #[serde(default)]
    pub(crate) schedules: Vec<HibernationSchedule>,
}

/// A hibernation schedule
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HibernationSchedule {
    /// Start of the hibernation, as a cron expression
    pub(crate) start: Option<String>,
    /// End of the hibernation, as a cron expression
    pub(crate) end: Option<String>,
    /// Time zone of the schedule, such as Europe/Berlin
    pub(crate) location: Option<String>,
}

/// Optional add-ons, only for shoots with purpose evaluation
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Addons {
    /// Kubernetes Dashboard; no longer maintained
    pub(crate) kubernetes_dashboard: Option<KubernetesDashboard>,
    /// NGINX ingress controller; no longer maintained
    pub(crate) nginx_ingress: Option<NginxIngress>,
}

/// Kubernetes Dashboard
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubernetesDashboard {
    /// Specifies whether the add-on is installed
    pub(crate) enabled: bool,
    /// Authentication mode: token
    pub(crate) authentication_mode: Option<String>,
}

/// NGINX ingress controller
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NginxIngress {
    /// Specifies whether the add-on is installed
    pub(crate) enabled: bool,
    /// Address ranges that can reach the load balancer
    #[serde(default)]
    pub(crate) load_balancer_source_ranges: Vec<String>,
    /// Configuration of the controller
    pub(crate) config: Option<BTreeMap<String, String>>,
    /// Cluster or Local
    pub(crate) external_traffic_policy: Option<String>,
}
