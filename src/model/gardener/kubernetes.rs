//! `spec.kubernetes` of a Shoot: the version and the settings of each component.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::scalar::{Duration, IntOrString, Quantity, Unused};

/// Kubernetes version and settings of its components
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubernetes {
    /// Full version such as 1.34.2, or 1.34 for its newest patch version
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// Must not be false: the API server always allows privileged containers; use Pod Security instead
    pub(crate) allow_privileged_containers: Option<bool>,
    /// Settings of the kubelets of all pools
    pub(crate) kubelet: Option<Kubelet>,
    /// Settings of kube-controller-manager
    pub(crate) kube_controller_manager: Option<KubeControllerManager>,
    /// Settings of kube-proxy
    pub(crate) kube_proxy: Option<KubeProxy>,
    /// Settings of kube-apiserver
    #[serde(rename = "kubeAPIServer")]
    pub(crate) kube_api_server: Option<KubeApiServer>,
    /// Settings of kube-scheduler
    pub(crate) kube_scheduler: Option<KubeScheduler>,
    /// Settings of the cluster autoscaler
    pub(crate) cluster_autoscaler: Option<ClusterAutoscaler>,
    /// No effect: kvshoot does not install the vertical pod autoscaler
    pub(crate) vertical_pod_autoscaler: Option<Unused>,
    /// Must not be true: static tokens are not supported
    pub(crate) enable_static_token_kubeconfig: Option<bool>,
    /// No effect: use controlPlaneConfig.etcd
    pub(crate) etcd: Option<Unused>,
}

/// Settings of kube-apiserver
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeApiServer {
    /// Feature gates by name
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    /// API groups and versions to enable or disable, such as resource.k8s.io/v1beta1
    pub(crate) runtime_config: Option<BTreeMap<String, bool>>,
    /// Admission plugins to enable, disable or configure
    #[serde(default)]
    pub(crate) admission_plugins: Vec<AdmissionPlugin>,
    /// Audiences of service account tokens; the issuer when absent
    #[serde(default)]
    pub(crate) api_audiences: Vec<String>,
    /// Audit logging
    pub(crate) audit_config: Option<AuditConfig>,
    /// Minimum resource requests of the API server
    pub(crate) autoscaling: Option<ControlPlaneAutoscaling>,
    /// How long pods stay on a node that is not ready, in seconds; 300 when absent
    pub(crate) default_not_ready_toleration_seconds: Option<i64>,
    /// How long pods stay on an unreachable node, in seconds; 300 when absent
    pub(crate) default_unreachable_toleration_seconds: Option<i64>,
    /// Specifies whether requests without credentials are accepted, subject to authorization; otherwise they can read only health endpoints and cluster-info
    pub(crate) enable_anonymous_authentication: Option<bool>,
    /// Must not be true: basic authentication was removed in Kubernetes 1.19
    pub(crate) enable_basic_authentication: Option<bool>,
    /// Encryption of resources in etcd
    pub(crate) encryption_config: Option<EncryptionConfig>,
    /// How long events are kept; 1h when absent
    #[serde(rename = "eventTTL")]
    pub(crate) event_ttl: Option<Duration>,
    /// Log levels
    pub(crate) logging: Option<ApiServerLogging>,
    /// OpenID Connect issuer whose tokens are accepted
    pub(crate) oidc_config: Option<OidcConfig>,
    /// Limits of concurrent requests
    pub(crate) requests: Option<ApiServerRequests>,
    /// Service account tokens
    pub(crate) service_account_config: Option<ServiceAccountConfig>,
    /// Custom AuthenticationConfiguration, which replaces the one of kvshoot
    pub(crate) structured_authentication: Option<StructuredAuthentication>,
    /// Not supported
    pub(crate) structured_authorization: Option<serde_json::Value>,
    /// Sizes of the watch caches
    pub(crate) watch_cache_sizes: Option<WatchCacheSizes>,
}

/// Audit logging of the API server
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditConfig {
    /// Audit policy
    pub(crate) audit_policy: Option<AuditPolicy>,
}

/// Reference to an audit policy
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditPolicy {
    /// ConfigMap in the provider namespace with the audit policy in the key policy
    pub(crate) config_map_ref: Option<ConfigMapRef>,
}

/// Reference to a ConfigMap
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConfigMapRef {
    /// Name of the ConfigMap
    #[schemars(length(min = 1))]
    pub(crate) name: String,
}

/// Minimum resource requests of a component
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControlPlaneAutoscaling {
    /// Minimum requests of cpu and memory
    pub(crate) min_allowed: Option<BTreeMap<String, Quantity>>,
}

/// Encryption of resources in etcd
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EncryptionConfig {
    /// Must contain only secrets, which are always encrypted
    #[serde(default)]
    pub(crate) resources: Vec<String>,
    /// Encryption provider
    pub(crate) provider: Option<EncryptionProvider>,
}

/// Encryption provider
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EncryptionProvider {
    /// secretbox
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
}

/// Custom AuthenticationConfiguration
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StructuredAuthentication {
    /// ConfigMap in the provider namespace with an AuthenticationConfiguration in the key config.yaml
    #[schemars(length(min = 1))]
    pub(crate) config_map_name: String,
}

/// Sizes of the API server's watch caches
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WatchCacheSizes {
    /// Not supported: watch caches grow dynamically
    pub(crate) default: Option<i32>,
    /// Sizes by resource; 0 disables the cache, other sizes are initial sizes
    #[serde(default)]
    pub(crate) resources: Vec<WatchCacheSize>,
}

/// Size of the watch cache of a resource
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatchCacheSize {
    /// API group; the core group when absent
    pub(crate) api_group: Option<String>,
    /// Resource such as configmaps
    #[schemars(length(min = 1))]
    pub(crate) resource: String,
    /// Initial number of objects; 0 disables the cache
    pub(crate) size: i32,
}

/// An admission plugin and its configuration
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdmissionPlugin {
    /// Name of the plugin, such as PodSecurity
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Configuration of the plugin, such as a PodSecurityConfiguration
    pub(crate) config: Option<serde_json::Value>,
    /// Disable the plugin
    pub(crate) disabled: Option<bool>,
    /// Not supported
    pub(crate) kubeconfig_secret_name: Option<String>,
}

/// Log levels of the API server
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiServerLogging {
    /// Log level; 2 when absent
    pub(crate) verbosity: Option<i32>,
    /// Log level of HTTP requests
    pub(crate) http_access_verbosity: Option<i32>,
}

/// Limits of concurrent requests
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiServerRequests {
    /// Maximum number of concurrent read requests
    pub(crate) max_non_mutating_inflight: Option<i32>,
    /// Maximum number of concurrent write requests
    pub(crate) max_mutating_inflight: Option<i32>,
}

/// OpenID Connect issuer whose tokens the API server accepts
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OidcConfig {
    /// CA certificates of the issuer in PEM
    pub(crate) ca_bundle: Option<String>,
    /// No effect: it is for kubeconfigs, which kvshoot issues with client certificates
    pub(crate) client_authentication: Option<Unused>,
    /// Client ID that tokens must be issued for
    #[serde(rename = "clientID")]
    pub(crate) client_id: Option<String>,
    /// Claim with the groups of a user
    pub(crate) groups_claim: Option<String>,
    /// Prefix of the group names
    pub(crate) groups_prefix: Option<String>,
    /// URL of the issuer; must start with https://
    #[serde(rename = "issuerURL")]
    pub(crate) issuer_url: Option<String>,
    /// Claims that tokens must have, with their values
    pub(crate) required_claims: Option<BTreeMap<String, String>>,
    /// Not supported: all asymmetric algorithms are accepted
    #[serde(default)]
    pub(crate) signing_algs: Vec<String>,
    /// Claim with the user name
    pub(crate) username_claim: Option<String>,
    /// Prefix of the user names
    pub(crate) username_prefix: Option<String>,
}

/// Service account tokens
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServiceAccountConfig {
    /// Issuer of the tokens
    pub(crate) issuer: Option<String>,
    /// Further issuers whose tokens are accepted
    #[serde(default)]
    pub(crate) accepted_issuers: Vec<String>,
    /// Extend the lifetime of injected tokens
    pub(crate) extend_token_expiration: Option<bool>,
    /// Maximum lifetime of tokens
    pub(crate) max_token_expiration: Option<Duration>,
    /// Not supported: kvshoot generates the key
    pub(crate) signing_key_secret_name: Option<String>,
}

/// Settings of kube-scheduler
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeScheduler {
    /// Feature gates by name
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    /// Maximum number of volumes on a node
    #[serde(rename = "kubeMaxPDVols")]
    pub(crate) kube_max_pd_vols: Option<String>,
    /// balanced, or bin-packing to fill nodes one after another
    pub(crate) profile: Option<String>,
}

/// Settings of kube-controller-manager
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeControllerManager {
    /// Prefix length of the pod range of each node, 16 to 28; 24 unless maxPods requires more addresses
    #[serde(rename = "nodeCIDRMaskSize")]
    pub(crate) node_cidr_mask_size: Option<i32>,
    /// How long a node can be silent before it is marked as not ready
    pub(crate) node_monitor_grace_period: Option<Duration>,
    /// How long pods stay on a node that is not ready, unless the API server's default tolerations are set
    pub(crate) pod_eviction_timeout: Option<Duration>,
    /// Feature gates by name
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    /// Settings of horizontal pod autoscaling
    pub(crate) horizontal_pod_autoscaler: Option<HorizontalPodAutoscaler>,
}

/// Settings of horizontal pod autoscaling
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HorizontalPodAutoscaler {
    /// Time after pod start during which CPU samples are ignored
    pub(crate) cpu_initialization_period: Option<Duration>,
    /// Not supported: replaced by downscaleStabilization in Kubernetes 1.12
    pub(crate) downscale_delay: Option<Duration>,
    /// How long recommendations are considered before scaling down
    pub(crate) downscale_stabilization: Option<Duration>,
    /// Time after pod start during which readiness changes count as initial readiness
    pub(crate) initial_readiness_delay: Option<Duration>,
    /// Interval between two checks
    pub(crate) sync_period: Option<Duration>,
    /// Change of the metric, as a ratio, that is ignored
    pub(crate) tolerance: Option<f64>,
    /// Not supported: removed in Kubernetes 1.12
    pub(crate) upscale_delay: Option<Duration>,
}

/// Settings of the cluster autoscaler
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClusterAutoscaler {
    /// Time after a node was added until nodes are removed; 1h when absent
    pub(crate) scale_down_delay_after_add: Option<Duration>,
    /// Time after a removal that failed until nodes are removed; 3m when absent
    pub(crate) scale_down_delay_after_failure: Option<Duration>,
    /// Time after a node was removed until nodes are removed; 0s when absent
    pub(crate) scale_down_delay_after_delete: Option<Duration>,
    /// How long a node has to be unneeded before it is removed; 30m when absent
    pub(crate) scale_down_unneeded_time: Option<Duration>,
    /// Share of a node's CPU or memory that is requested, below which it may be removed; 0.5 when absent
    pub(crate) scale_down_utilization_threshold: Option<f64>,
    /// Interval between two checks; 10s when absent
    pub(crate) scan_interval: Option<Duration>,
    /// How a pool is selected: least-waste, most-pods, least-nodes, priority or random, or several separated by commas
    pub(crate) expander: Option<String>,
    /// How long a node is waited for; 20m when absent
    pub(crate) max_node_provision_time: Option<Duration>,
    /// Time limit for the pods of a removed node to end, in seconds; 600 when absent
    pub(crate) max_graceful_termination_seconds: Option<i32>,
    /// Keys of taints that are ignored; startupTaints and statusTaints replace it
    pub(crate) ignore_taints: Option<Vec<String>>,
    /// How old a pending pod has to be before a node is added for it; 0s when absent
    pub(crate) new_pod_scale_up_delay: Option<Duration>,
    /// Old name of maxScaleDownParallelism
    pub(crate) max_empty_bulk_delete: Option<i32>,
    /// Specifies whether requests of DaemonSets are ignored when the use of a node is calculated
    pub(crate) ignore_daemonsets_utilization: Option<bool>,
    /// Verbosity of the log; 2 when absent
    pub(crate) verbosity: Option<i32>,
    /// Keys of taints that a node has until it is initialized
    pub(crate) startup_taints: Option<Vec<String>>,
    /// Keys of taints that a node has for a while
    pub(crate) status_taints: Option<Vec<String>>,
    /// Maximum number of nodes that are removed at the same time; 10 when absent
    pub(crate) max_scale_down_parallelism: Option<i32>,
    /// Maximum number of nodes that are drained at the same time; 1 when absent
    pub(crate) max_drain_parallelism: Option<i32>,
    /// How long a pool is not scaled up after its first failure; 5m when absent
    pub(crate) initial_node_group_backoff_duration: Option<Duration>,
    /// Maximum time that a pool is not scaled up after failures; 30m when absent
    pub(crate) max_node_group_backoff_duration: Option<Duration>,
    /// Time without failures after which the first duration is used again; 3h when absent
    pub(crate) node_group_backoff_reset_timeout: Option<Duration>,
    /// Specifies whether metrics are collected for each pool and zone
    pub(crate) emit_per_node_group_metrics: Option<bool>,
    /// Time limit for the calculation of one node group; 5m when absent
    pub(crate) max_binpacking_time: Option<Duration>,
}

/// Settings of kube-proxy
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeProxy {
    /// IPTables, IPVS or NFTables
    pub(crate) mode: Option<String>,
    /// Specifies whether kube-proxy is deployed; true when absent
    pub(crate) enabled: Option<bool>,
    /// Feature gates by name
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
}

/// Settings of kubelets
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubelet {
    /// Maximum number of log files of a container
    pub(crate) container_log_max_files: Option<i32>,
    /// Maximum size of a log file before it is rotated
    pub(crate) container_log_max_size: Option<Quantity>,
    /// Specifies whether CPU limits are enforced
    #[serde(rename = "cpuCFSQuota")]
    pub(crate) cpu_cfs_quota: Option<bool>,
    /// CPU manager policy: none or static
    pub(crate) cpu_manager_policy: Option<String>,
    /// Thresholds for immediate eviction: a quantity such as 100Mi, or a percentage such as 5%
    pub(crate) eviction_hard: Option<BTreeMap<String, IntOrString>>,
    /// Maximum grace period of pods on soft eviction, in seconds
    pub(crate) eviction_max_pod_grace_period: Option<i32>,
    /// Minimum amount to reclaim on eviction
    pub(crate) eviction_minimum_reclaim: Option<BTreeMap<String, Quantity>>,
    /// How long a pressure condition is kept after it has ended
    pub(crate) eviction_pressure_transition_period: Option<Duration>,
    /// Thresholds for eviction after a grace period: a quantity such as 100Mi, or a percentage such as 5%
    pub(crate) eviction_soft: Option<BTreeMap<String, IntOrString>>,
    /// Grace periods of evictionSoft
    pub(crate) eviction_soft_grace_period: Option<BTreeMap<String, Duration>>,
    /// Specifies whether the kubelet refuses to start with swap enabled
    pub(crate) fail_swap_on: Option<bool>,
    /// Feature gates by name
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    /// Disk usage in percent at which image garbage collection starts
    #[serde(rename = "imageGCHighThresholdPercent")]
    pub(crate) image_gc_high_threshold_percent: Option<i32>,
    /// Disk usage in percent at which image garbage collection stops
    #[serde(rename = "imageGCLowThresholdPercent")]
    pub(crate) image_gc_low_threshold_percent: Option<i32>,
    /// Age at which an unused image is deleted
    #[serde(rename = "imageMaximumGCAge")]
    pub(crate) image_maximum_gc_age: Option<Duration>,
    /// Minimum age of an unused image before it can be deleted
    #[serde(rename = "imageMinimumGCAge")]
    pub(crate) image_minimum_gc_age: Option<Duration>,
    /// No effect: kubelet no longer has this setting
    pub(crate) image_pull_progress_deadline: Option<Unused>,
    /// Resources reserved for Kubernetes daemons: cpu, memory, ephemeralStorage, pid
    pub(crate) kube_reserved: Option<BTreeMap<String, Quantity>>,
    /// Maximum number of parallel image pulls
    pub(crate) max_parallel_image_pulls: Option<i32>,
    /// Maximum number of pods on a node; 110 when absent
    pub(crate) max_pods: Option<i32>,
    /// Use of swap by pods
    pub(crate) memory_swap: Option<MemorySwap>,
    /// Maximum number of processes in a pod; at least 100
    pub(crate) pod_pids_limit: Option<i64>,
    /// Specifies whether the kubelet fails if kernel settings differ from its defaults
    pub(crate) protect_kernel_defaults: Option<bool>,
    /// Maximum burst of image pulls
    pub(crate) registry_burst: Option<i32>,
    /// Maximum image pulls per second; 0 for unlimited
    #[serde(rename = "registryPullQPS")]
    pub(crate) registry_pull_qps: Option<i32>,
    /// Use the seccomp profile RuntimeDefault by default
    pub(crate) seccomp_default: Option<bool>,
    /// Pull images one at a time
    pub(crate) serialize_image_pulls: Option<bool>,
    /// Idle time after which streaming connections are closed
    pub(crate) streaming_connection_idle_timeout: Option<Duration>,
    /// Resources reserved for the operating system: cpu, memory, ephemeralStorage, pid
    pub(crate) system_reserved: Option<BTreeMap<String, Quantity>>,
}

/// Use of swap by pods
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemorySwap {
    /// NoSwap or LimitedSwap
    pub(crate) swap_behavior: Option<String>,
}
