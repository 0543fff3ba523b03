//! `spec.kubernetes` of a Shoot: the version, and the settings of each component.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::scalar::{Duration, IntOrString, Quantity, Unused};

/// The version of Kubernetes and the settings of its components
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubernetes {
    /// A whole version such as 1.34.2, or 1.34 for its newest patch
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// Containers may be privileged unless Pod Security says otherwise
    pub(crate) allow_privileged_containers: Option<bool>,
    /// Settings of the kubelets of all pools
    pub(crate) kubelet: Option<Kubelet>,
    pub(crate) kube_controller_manager: Option<KubeControllerManager>,
    pub(crate) kube_proxy: Option<KubeProxy>,
    #[serde(rename = "kubeAPIServer")]
    pub(crate) kube_api_server: Option<KubeApiServer>,
    pub(crate) kube_scheduler: Option<KubeScheduler>,
    pub(crate) cluster_autoscaler: Option<Unused>,
    pub(crate) vertical_pod_autoscaler: Option<Unused>,
    /// There are no static tokens
    pub(crate) enable_static_token_kubeconfig: Option<bool>,
    pub(crate) etcd: Option<Unused>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeApiServer {
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    /// API groups and versions to switch on or off, such as resource.k8s.io/v1beta1
    pub(crate) runtime_config: Option<BTreeMap<String, bool>>,
    /// Admission plugins to switch on, off, or to configure
    #[serde(default)]
    pub(crate) admission_plugins: Vec<AdmissionPlugin>,
    /// For whom tokens of service accounts may be; the issuer when absent
    #[serde(default)]
    pub(crate) api_audiences: Vec<String>,
    pub(crate) audit_config: Option<AuditConfig>,
    /// What the API server asks for at least
    pub(crate) autoscaling: Option<ControlPlaneAutoscaling>,
    /// How long pods stay on a node that is not ready; 300 when absent
    pub(crate) default_not_ready_toleration_seconds: Option<i64>,
    /// How long pods stay on a node that nobody hears of; 300 when absent
    pub(crate) default_unreachable_toleration_seconds: Option<i64>,
    /// Whether anybody is served without credentials, as far as roles go; otherwise health and cluster-info alone are
    pub(crate) enable_anonymous_authentication: Option<bool>,
    /// There are no passwords
    pub(crate) enable_basic_authentication: Option<bool>,
    pub(crate) encryption_config: Option<EncryptionConfig>,
    /// How long events are kept; 1h when absent
    #[serde(rename = "eventTTL")]
    pub(crate) event_ttl: Option<Duration>,
    pub(crate) logging: Option<ApiServerLogging>,
    pub(crate) oidc_config: Option<OidcConfig>,
    pub(crate) requests: Option<ApiServerRequests>,
    pub(crate) service_account_config: Option<ServiceAccountConfig>,
    /// An AuthenticationConfiguration of one's own, in place of all that kvshoot would say there
    pub(crate) structured_authentication: Option<StructuredAuthentication>,
    /// Not supported
    pub(crate) structured_authorization: Option<serde_json::Value>,
    pub(crate) watch_cache_sizes: Option<WatchCacheSizes>,
}

/// What the API server writes down of requests
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditConfig {
    pub(crate) audit_policy: Option<AuditPolicy>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditPolicy {
    /// A ConfigMap in the provider namespace with an audit policy under the key policy
    pub(crate) config_map_ref: Option<ConfigMapRef>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConfigMapRef {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControlPlaneAutoscaling {
    /// Amounts of cpu and memory
    pub(crate) min_allowed: Option<BTreeMap<String, Quantity>>,
}

/// What is encrypted in etcd
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EncryptionConfig {
    /// Resources such as configmaps or deployments.apps; secrets always are
    #[serde(default)]
    pub(crate) resources: Vec<String>,
    pub(crate) provider: Option<EncryptionProvider>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EncryptionProvider {
    /// secretbox
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StructuredAuthentication {
    /// A ConfigMap in the provider namespace with an AuthenticationConfiguration under the key config.yaml
    #[schemars(length(min = 1))]
    pub(crate) config_map_name: String,
}

/// How many objects the API server keeps at hand
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WatchCacheSizes {
    /// Not supported: caches grow with their use
    pub(crate) default: Option<i32>,
    /// 0 switches a cache off; any other size is only where it starts
    #[serde(default)]
    pub(crate) resources: Vec<WatchCacheSize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatchCacheSize {
    pub(crate) api_group: Option<String>,
    /// Such as configmaps
    #[schemars(length(min = 1))]
    pub(crate) resource: String,
    pub(crate) size: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdmissionPlugin {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// The plugin's own configuration, such as a PodSecurityConfiguration
    pub(crate) config: Option<serde_json::Value>,
    pub(crate) disabled: Option<bool>,
    /// Not supported
    pub(crate) kubeconfig_secret_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiServerLogging {
    /// Level of the log; 2 when absent
    pub(crate) verbosity: Option<i32>,
    /// Level of the log of requests
    pub(crate) http_access_verbosity: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiServerRequests {
    pub(crate) max_non_mutating_inflight: Option<i32>,
    pub(crate) max_mutating_inflight: Option<i32>,
}

/// Whose tokens the API server takes
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OidcConfig {
    /// Roots of the issuer's certificate, in PEM
    pub(crate) ca_bundle: Option<String>,
    pub(crate) client_authentication: Option<Unused>,
    #[serde(rename = "clientID")]
    pub(crate) client_id: Option<String>,
    pub(crate) groups_claim: Option<String>,
    pub(crate) groups_prefix: Option<String>,
    #[serde(rename = "issuerURL")]
    pub(crate) issuer_url: Option<String>,
    pub(crate) required_claims: Option<BTreeMap<String, String>>,
    /// Not supported: all that are asymmetric are taken
    #[serde(default)]
    pub(crate) signing_algs: Vec<String>,
    pub(crate) username_claim: Option<String>,
    pub(crate) username_prefix: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServiceAccountConfig {
    pub(crate) issuer: Option<String>,
    #[serde(default)]
    pub(crate) accepted_issuers: Vec<String>,
    pub(crate) extend_token_expiration: Option<bool>,
    pub(crate) max_token_expiration: Option<Duration>,
    /// Not supported: the key is made
    pub(crate) signing_key_secret_name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeScheduler {
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    #[serde(rename = "kubeMaxPDVols")]
    pub(crate) kube_max_pd_vols: Option<String>,
    /// balanced, or bin-packing, which fills nodes one after the other
    pub(crate) profile: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeControllerManager {
    /// Prefix of the range that each node has for its pods; 24 unless maxPods asks for more
    #[serde(rename = "nodeCIDRMaskSize")]
    pub(crate) node_cidr_mask_size: Option<i32>,
    /// How long a node may be silent before it counts as not ready
    pub(crate) node_monitor_grace_period: Option<Duration>,
    /// How long pods stay on a node that is not ready, unless the API server's default tolerations say otherwise
    pub(crate) pod_eviction_timeout: Option<Duration>,
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    pub(crate) horizontal_pod_autoscaler: Option<HorizontalPodAutoscaler>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HorizontalPodAutoscaler {
    pub(crate) cpu_initialization_period: Option<Duration>,
    /// Not supported: it is downscaleStabilization since Kubernetes 1.12
    pub(crate) downscale_delay: Option<Duration>,
    pub(crate) downscale_stabilization: Option<Duration>,
    pub(crate) initial_readiness_delay: Option<Duration>,
    pub(crate) sync_period: Option<Duration>,
    pub(crate) tolerance: Option<f64>,
    /// Not supported since Kubernetes 1.12
    pub(crate) upscale_delay: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeProxy {
    /// IPTables, IPVS or NFTables
    pub(crate) mode: Option<String>,
    pub(crate) enabled: Option<bool>,
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
}

/// Settings of kubelets
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubelet {
    pub(crate) container_log_max_files: Option<i32>,
    pub(crate) container_log_max_size: Option<Quantity>,
    #[serde(rename = "cpuCFSQuota")]
    pub(crate) cpu_cfs_quota: Option<bool>,
    pub(crate) cpu_manager_policy: Option<String>,
    pub(crate) eviction_hard: Option<BTreeMap<String, IntOrString>>,
    pub(crate) eviction_max_pod_grace_period: Option<i32>,
    pub(crate) eviction_minimum_reclaim: Option<BTreeMap<String, Quantity>>,
    pub(crate) eviction_pressure_transition_period: Option<Duration>,
    pub(crate) eviction_soft: Option<BTreeMap<String, IntOrString>>,
    pub(crate) eviction_soft_grace_period: Option<BTreeMap<String, Duration>>,
    pub(crate) fail_swap_on: Option<bool>,
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
    #[serde(rename = "imageGCHighThresholdPercent")]
    pub(crate) image_gc_high_threshold_percent: Option<i32>,
    #[serde(rename = "imageGCLowThresholdPercent")]
    pub(crate) image_gc_low_threshold_percent: Option<i32>,
    #[serde(rename = "imageMaximumGCAge")]
    pub(crate) image_maximum_gc_age: Option<Duration>,
    #[serde(rename = "imageMinimumGCAge")]
    pub(crate) image_minimum_gc_age: Option<Duration>,
    pub(crate) image_pull_progress_deadline: Option<Unused>,
    pub(crate) kube_reserved: Option<BTreeMap<String, Quantity>>,
    pub(crate) max_parallel_image_pulls: Option<i32>,
    /// Most pods of a node; 110 when absent
    pub(crate) max_pods: Option<i32>,
    pub(crate) memory_swap: Option<MemorySwap>,
    pub(crate) pod_pids_limit: Option<i64>,
    pub(crate) protect_kernel_defaults: Option<bool>,
    pub(crate) registry_burst: Option<i32>,
    #[serde(rename = "registryPullQPS")]
    pub(crate) registry_pull_qps: Option<i32>,
    pub(crate) seccomp_default: Option<bool>,
    pub(crate) serialize_image_pulls: Option<bool>,
    pub(crate) streaming_connection_idle_timeout: Option<Duration>,
    pub(crate) system_reserved: Option<BTreeMap<String, Quantity>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemorySwap {
    pub(crate) swap_behavior: Option<String>,
}
