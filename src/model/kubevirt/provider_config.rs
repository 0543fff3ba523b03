//! CloudProfileConfig, InfrastructureConfig and ControlPlaneConfig of Gardener's KubeVirt provider.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backup::BackupConfig;
use super::network_policy::CustomNetworkPolicy;
use crate::model::scalar::Quantity;

/// API version of the provider configurations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum ProviderVersion {
    #[default]
    #[serde(rename = "kubevirt.provider.extensions.gardener.cloud/v1alpha1")]
    V1Alpha1,
}

/// Declares an enum with one variant, for `kind`.
macro_rules! word {
    ($name:ident) => {
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
        )]
        #[schemars(inline)]
        pub(crate) enum $name {
            #[default]
            $name,
        }
    };
}
pub(super) mod kinds {
    use super::{Deserialize, JsonSchema, Serialize};
    word!(CloudProfileConfig);
    word!(InfrastructureConfig);
    word!(ControlPlaneConfig);
    word!(WorkerConfig);
}

/// Image sources, machine type limits and defaults of the KubeVirt provider
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProfileConfig {
    /// Always kubevirt.provider.extensions.gardener.cloud/v1alpha1
    pub(crate) api_version: ProviderVersion,
    /// Always CloudProfileConfig
    pub(crate) kind: kinds::CloudProfileConfig,
    /// Sources of the machine images of the profile
    #[schemars(length(min = 1))]
    pub(crate) machine_images: Vec<MachineImageSource>,
    /// Limits of the machine types of the profile
    #[serde(default)]
    pub(crate) machine_types: Vec<MachineTypeLimits>,
    /// Images that replace the defaults, by component: etcd, coredns, kube-proxy, pause, konnectivity-server…
    #[serde(default)]
    pub(crate) component_images: BTreeMap<String, String>,
    /// StorageClasses of the provider that clusters get as `kubevirt-<name>`, in addition to those of the volume types and those marked in the provider
    #[serde(default)]
    pub(crate) storage_classes: Vec<InfraStorageClass>,
    /// VolumeSnapshotClasses of the provider that clusters get as `kubevirt-<name>`; without any, clusters have no snapshots
    #[serde(default)]
    pub(crate) volume_snapshot_classes: Vec<InfraVolumeSnapshotClass>,
    /// Provider namespace whose instancetypes and preferences are copied for pools that refer to them
    #[schemars(length(min = 1))]
    pub(crate) template_namespace: Option<String>,
    /// Disable the built-in instancetypes standard-2, standard-4 and standard-8
    #[serde(default)]
    pub(crate) disable_default_instance_types: bool,
    /// Disable the built-in preference sockets-advantage
    #[serde(default)]
    pub(crate) disable_default_preferences: bool,
    /// Download locations of kubelet, containerd and other binaries that images lack
    pub(crate) downloads: Option<Downloads>,
    /// HTTP proxy of machines, for downloads, packages and container images
    pub(crate) proxy: Option<HttpProxy>,
    /// MTU of the interfaces of new machines, 1280 to 9000; as announced by the provider when absent
    pub(crate) mtu: Option<u32>,
    /// Manifests of pod networks that are not built in
    #[serde(default)]
    pub(crate) network_manifests: Vec<NetworkManifest>,
    /// NetworkPolicies that block private addresses for machines and importers; false when absent
    pub(crate) enable_default_network_policies: Option<bool>,
    /// Additional NetworkPolicies for every cluster
    #[serde(default)]
    pub(crate) custom_network_policies: Vec<CustomNetworkPolicy>,
}

/// A StorageClass of the provider that clusters get
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InfraStorageClass {
    /// Name of the StorageClass in the provider cluster
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Make it the default StorageClass, instead of one of the volume types
    #[serde(default)]
    pub(crate) is_default_class: bool,
    /// Immediate or WaitForFirstConsumer; Immediate when absent
    pub(crate) volume_binding_mode: Option<String>,
    /// Delete or Retain; Delete when absent
    pub(crate) reclaim_policy: Option<String>,
    /// Specifies whether volumes can be expanded; true when absent
    pub(crate) allow_volume_expansion: Option<bool>,
}

/// A VolumeSnapshotClass of the provider that clusters get
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InfraVolumeSnapshotClass {
    /// Name of the VolumeSnapshotClass in the provider cluster
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Make it the default VolumeSnapshotClass
    #[serde(default)]
    pub(crate) is_default_class: bool,
    /// Delete or Retain: whether a snapshot in the provider is deleted with that in the cluster; Delete when absent
    pub(crate) deletion_policy: Option<String>,
}

/// Manifests of a pod network
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NetworkManifest {
    /// Value of networking.type in Shoots, such as calico or cilium
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Location of the manifests, a single file: https://… or file:///…
    #[schemars(length(min = 1))]
    pub(crate) url: String,
    /// SHA-256 digest of the file in hexadecimal
    #[schemars(length(min = 1))]
    pub(crate) digest: String,
}

/// Download locations of binaries
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Downloads {
    /// Mirror of the default locations, such as `https://mirror.example.org`, with the original hosts as directories: dl.k8s.io, github.com
    #[schemars(length(min = 1))]
    pub(crate) mirror: Option<String>,
    /// SHA-256 digests in hexadecimal by original URL, for versions unknown to kvshoot; the digest published next to the file when absent
    #[serde(default)]
    pub(crate) digests: BTreeMap<String, String>,
}

/// HTTP proxy of machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpProxy {
    /// Proxy for http URLs, such as `http://proxy.example.org:3128`
    #[schemars(length(min = 1))]
    pub(crate) http: Option<String>,
    /// Proxy for https URLs
    #[schemars(length(min = 1))]
    pub(crate) https: Option<String>,
    /// Hosts, domains and address ranges that are reached directly, besides the API server, Services and pods
    #[serde(default)]
    pub(crate) no_proxy: Vec<String>,
}

/// Sources of a machine image
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineImageSource {
    /// Name of a machine image of the profile
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Sources by version
    #[schemars(length(min = 1))]
    pub(crate) versions: Vec<MachineImageSourceVersion>,
}

/// Source of a version of a machine image
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineImageSourceVersion {
    /// Version of the machine image
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// URL that CDI imports the image from: https://…, http://…, or a registry: docker://… or oci://…
    #[serde(rename = "sourceURL")]
    #[schemars(length(min = 1))]
    pub(crate) source_url: String,
}

/// Limits of a machine type
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineTypeLimits {
    /// Name of a machine type of the profile
    #[serde(default)]
    pub(crate) name: String,
    /// Maximum CPU and memory
    pub(crate) limits: Option<Limits>,
}

/// Maximum CPU and memory of a machine
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Limits {
    /// CPU limit; at least the CPU of the machine type
    pub(crate) cpu: Option<Quantity>,
    /// Memory limit; at least the memory of the machine type
    pub(crate) memory: Option<Quantity>,
}

/// Networks, preallocated disks and network policies of the machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InfrastructureConfig {
    /// Always kubevirt.provider.extensions.gardener.cloud/v1alpha1
    pub(crate) api_version: ProviderVersion,
    /// Always InfrastructureConfig
    pub(crate) kind: kinds::InfrastructureConfig,
    /// Networks that the machines are attached to
    pub(crate) networks: Option<Networks>,
    /// Disks that are imported once and cloned by machines whose template names them as osImage (custom local disks in Kubermatic)
    #[serde(default)]
    pub(crate) pre_allocated_data_volumes: Vec<PreAllocatedDataVolume>,
    /// NetworkPolicies that block private addresses for machines and importers; the value of the CloudProfile when absent
    pub(crate) enable_default_network_policies: Option<bool>,
    /// Additional NetworkPolicies of this cluster
    #[serde(default)]
    pub(crate) custom_network_policies: Vec<CustomNetworkPolicy>,
}

/// A disk that is imported once and cloned by machines
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreAllocatedDataVolume {
    /// Name of the disk
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// URL of the image: https://…, or a registry: docker://… or oci://…
    #[schemars(length(min = 1))]
    pub(crate) url: String,
    /// Size of the disk
    pub(crate) size: Quantity,
    /// StorageClass in the provider cluster
    #[schemars(length(min = 1))]
    pub(crate) storage_class: String,
    /// Annotations of the DataVolume
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// Networks that the machines are attached to
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Networks {
    /// Existing NetworkAttachmentDefinitions; never changed
    #[serde(default)]
    pub(crate) shared_networks: Vec<SharedNetwork>,
    /// NetworkAttachmentDefinitions that are created for this shoot
    #[serde(default)]
    pub(crate) tenant_networks: Vec<TenantNetwork>,
}

/// An existing NetworkAttachmentDefinition
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SharedNetwork {
    /// Name of the NetworkAttachmentDefinition
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Namespace of the NetworkAttachmentDefinition; that of the shoot's objects when absent
    pub(crate) namespace: Option<String>,
}

/// A NetworkAttachmentDefinition that is created for the shoot
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TenantNetwork {
    /// Name of the network; a suffix of the object name
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// CNI configuration as a JSON string
    #[schemars(length(min = 1))]
    pub(crate) config: String,
    /// Replace the pod network of the provider
    #[serde(default)]
    pub(crate) default: bool,
}

/// Exposure, etcd volume and image registry of the control plane
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControlPlaneConfig {
    /// Always kubevirt.provider.extensions.gardener.cloud/v1alpha1
    pub(crate) api_version: ProviderVersion,
    /// Always ControlPlaneConfig
    pub(crate) kind: kinds::ControlPlaneConfig,
    /// Settings of the cloud controller manager
    pub(crate) cloud_controller_manager: Option<CloudControllerManager>,
    /// How the API server is exposed; with a LoadBalancer when absent
    pub(crate) exposure: Option<Exposure>,
    /// Address of the API server for machines, as HOST or HOST:PORT; when absent, the ClusterIP for machines in the pod network, else the external address
    #[schemars(length(min = 1))]
    pub(crate) node_address: Option<String>,
    /// Volumes of etcd
    pub(crate) etcd: Option<EtcdConfig>,
    /// Regular backups, which kvshoot keep makes; none when absent
    pub(crate) backup: Option<BackupConfig>,
    /// Registry that replaces all public ones, such as registry.example.org/mirror; the rest of each image path is kept
    #[schemars(length(min = 1))]
    pub(crate) image_registry: Option<String>,
    /// Secrets of the provider namespace for pulling images
    #[serde(default)]
    pub(crate) image_pull_secrets: Vec<String>,
    /// PriorityClass of the provider cluster for the pods of the control plane; its default when absent
    #[schemars(length(min = 1))]
    pub(crate) priority_class_name: Option<String>,
}

/// How the API server is exposed outside the provider cluster
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Exposure {
    /// LoadBalancer, NodePort or None
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// For type NodePort: the address of a provider node, or one that reaches all of them
    #[schemars(length(min = 1))]
    pub(crate) address: Option<String>,
    /// For type NodePort: the port on the nodes; allocated by the provider when absent
    pub(crate) node_port: Option<i32>,
    /// For type LoadBalancer: annotations of the Service
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    /// For type LoadBalancer: ranges of addresses from which the API server is reachable; all when absent
    #[serde(default)]
    pub(crate) load_balancer_source_ranges: Vec<String>,
}

/// Volumes of etcd
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdConfig {
    /// StorageClass in the provider cluster; its default when absent
    #[schemars(length(min = 1))]
    pub(crate) storage_class: Option<String>,
    /// Size of the volume of each member; 10Gi when absent
    pub(crate) size: Option<Quantity>,
}

/// Settings of the cloud controller manager
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudControllerManager {
    /// Feature gates by name
    #[serde(default)]
    pub(crate) feature_gates: BTreeMap<String, bool>,
}
