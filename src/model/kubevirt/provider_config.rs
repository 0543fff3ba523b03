//! The four configurations of Gardener's KubeVirt provider, and the parts of KubeVirt's API that they embed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine_template::{
    AffinityPresets, KubevirtMatcher, MachineLocation, MachineTemplate, TopologySpread,
};
use super::network_policy::CustomNetworkPolicy;
use crate::model::scalar::Quantity;
use crate::model::scalar::macros::one_of;

/// The version of all four.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum ProviderVersion {
    #[default]
    #[serde(rename = "kubevirt.provider.extensions.gardener.cloud/v1alpha1")]
    V1Alpha1,
}

/// Declares a type with one word, for `kind`.
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
mod kinds {
    use super::{Deserialize, JsonSchema, Serialize};
    word!(CloudProfileConfig);
    word!(InfrastructureConfig);
    word!(ControlPlaneConfig);
    word!(WorkerConfig);
}

/// What the KubeVirt provider needs to know about images and machine types
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProfileConfig {
    pub(crate) api_version: ProviderVersion,
    pub(crate) kind: kinds::CloudProfileConfig,
    /// Where the images of the profile are imported from
    #[schemars(length(min = 1))]
    pub(crate) machine_images: Vec<MachineImageSource>,
    /// Limits of machine types of the profile, by name
    #[serde(default)]
    pub(crate) machine_types: Vec<MachineTypeLimits>,
    /// Images in place of those that kvshoot knows, by component: etcd, coredns, kube-proxy, pause, konnectivity-server…
    #[serde(default)]
    pub(crate) component_images: BTreeMap<String, String>,
    /// StorageClasses of the provider that a cluster has as `kubevirt-<name>`, beside those of the volume types and those that the provider marks
    #[serde(default)]
    pub(crate) storage_classes: Vec<InfraStorageClass>,
    /// VolumeSnapshotClasses of the provider that every cluster has too, as `kubevirt-<name>`; without any, clusters have no snapshots
    #[serde(default)]
    pub(crate) volume_snapshot_classes: Vec<InfraVolumeSnapshotClass>,
    /// Namespace of the provider whose instancetypes and preferences a cluster has as its own, once a pool names them
    #[schemars(length(min = 1))]
    pub(crate) template_namespace: Option<String>,
    /// Whether pools do without the instancetypes standard-2, standard-4 and standard-8, which kvshoot brings
    #[serde(default)]
    pub(crate) disable_default_instance_types: bool,
    /// Whether pools do without the preference sockets-advantage, which kvshoot brings
    #[serde(default)]
    pub(crate) disable_default_preferences: bool,
    /// Where machines fetch kubelet, containerd and the like whose image has none
    pub(crate) downloads: Option<Downloads>,
    /// Networks of pods that kvshoot has no manifests of its own for
    #[serde(default)]
    pub(crate) network_manifests: Vec<NetworkManifest>,
    /// NetworkPolicies that keep machines and importers off private addresses; none when absent
    pub(crate) enable_default_network_policies: Option<bool>,
    /// NetworkPolicies for every cluster
    #[serde(default)]
    pub(crate) custom_network_policies: Vec<CustomNetworkPolicy>,
}

/// A StorageClass of the provider, and how a cluster has it
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InfraStorageClass {
    /// Its name in the provider
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Claims without a class have this one, and none of the volume types
    #[serde(default)]
    pub(crate) is_default_class: bool,
    /// Immediate or WaitForFirstConsumer; Immediate when absent
    pub(crate) volume_binding_mode: Option<String>,
    /// Delete or Retain; Delete when absent
    pub(crate) reclaim_policy: Option<String>,
    /// Whether volumes may grow; true when absent
    pub(crate) allow_volume_expansion: Option<bool>,
}

/// A VolumeSnapshotClass of the provider, and how a cluster has it
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InfraVolumeSnapshotClass {
    /// Its name in the provider
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Snapshots without a class have this one
    #[serde(default)]
    pub(crate) is_default_class: bool,
    /// Delete or Retain: what becomes of a snapshot in the provider when it is deleted in the cluster; Delete when absent
    pub(crate) deletion_policy: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NetworkManifest {
    /// As networking.type of a Shoot has it: calico, cilium
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Where its manifests are, in one file: https://… or file:///…
    #[schemars(length(min = 1))]
    pub(crate) url: String,
    /// SHA-256 of that file in hexadecimal
    #[schemars(length(min = 1))]
    pub(crate) digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Downloads {
    /// Copy of the usual places, such as `https://mirror.example.org`, with their hosts as folders: dl.k8s.io, github.com
    #[schemars(length(min = 1))]
    pub(crate) mirror: Option<String>,
    /// SHA-256 in hexadecimal by the usual URL, for versions that kvshoot does not know; without one that which lies beside the file is taken
    #[serde(default)]
    pub(crate) digests: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineImageSource {
    /// Name of an image of the profile
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    #[schemars(length(min = 1))]
    pub(crate) versions: Vec<MachineImageSourceVersion>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineImageSourceVersion {
    /// Version of the image in the profile
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// URL that CDI imports from
    #[serde(rename = "sourceURL")]
    #[schemars(length(min = 1))]
    pub(crate) source_url: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineTypeLimits {
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) limits: Option<Limits>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Limits {
    pub(crate) cpu: Option<Quantity>,
    pub(crate) memory: Option<Quantity>,
}

/// Networks that the machines are attached to
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InfrastructureConfig {
    pub(crate) api_version: ProviderVersion,
    pub(crate) kind: kinds::InfrastructureConfig,
    pub(crate) networks: Option<Networks>,
    /// Disks that are filled once, and cloned by machines whose template names them as osImage; Kubermatic's custom local disks
    #[serde(default)]
    pub(crate) pre_allocated_data_volumes: Vec<PreAllocatedDataVolume>,
    /// NetworkPolicies that keep machines and importers off private addresses; what the CloudProfile says when absent
    pub(crate) enable_default_network_policies: Option<bool>,
    /// NetworkPolicies of this cluster, beside those of the CloudProfile
    #[serde(default)]
    pub(crate) custom_network_policies: Vec<CustomNetworkPolicy>,
}

/// A disk that machines clone
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreAllocatedDataVolume {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// URL of an image, https://… or docker://…
    #[schemars(length(min = 1))]
    pub(crate) url: String,
    pub(crate) size: Quantity,
    /// StorageClass of the provider
    #[schemars(length(min = 1))]
    pub(crate) storage_class: String,
    /// Annotations of the DataVolume
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Networks {
    /// NetworkAttachmentDefinitions that exist; they are never changed
    #[serde(default)]
    pub(crate) shared_networks: Vec<SharedNetwork>,
    /// NetworkAttachmentDefinitions that are made for this shoot
    #[serde(default)]
    pub(crate) tenant_networks: Vec<TenantNetwork>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SharedNetwork {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TenantNetwork {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// CNI configuration, JSON as a text
    #[schemars(length(min = 1))]
    pub(crate) config: String,
    /// Take the place of the pod network
    #[serde(default)]
    pub(crate) default: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControlPlaneConfig {
    pub(crate) api_version: ProviderVersion,
    pub(crate) kind: kinds::ControlPlaneConfig,
    pub(crate) cloud_controller_manager: Option<CloudControllerManager>,
    /// How the API server is reached from outside; by a LoadBalancer when absent
    pub(crate) exposure: Option<Exposure>,
    /// Address by which machines reach the API server, as host or host:port; without it the ClusterIP where machines have the pod network, and else the outer address
    #[schemars(length(min = 1))]
    pub(crate) node_address: Option<String>,
    /// Where etcd keeps its data
    pub(crate) etcd: Option<EtcdConfig>,
    /// Registry that stands in for all public ones, such as registry.example.org/mirror; the rest of each image's path is kept
    #[schemars(length(min = 1))]
    pub(crate) image_registry: Option<String>,
    /// Secrets of the provider namespace that images are pulled with
    #[serde(default)]
    pub(crate) image_pull_secrets: Vec<String>,
}

/// How the API server is reached from outside the provider cluster
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Exposure {
    /// LoadBalancer, NodePort or None
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Of type NodePort: an address of a node of the provider, or one that leads to all of them
    #[schemars(length(min = 1))]
    pub(crate) address: Option<String>,
    /// Of type NodePort: the port on the nodes; chosen by the provider when absent
    pub(crate) node_port: Option<i32>,
    /// Of type LoadBalancer: annotations of the Service
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdConfig {
    /// Storage class of the provider; its default one when absent
    #[schemars(length(min = 1))]
    pub(crate) storage_class: Option<String>,
    /// Of the volume of each member; 10Gi when absent
    pub(crate) size: Option<Quantity>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudControllerManager {
    #[serde(default)]
    pub(crate) feature_gates: BTreeMap<String, bool>,
}

/// How the virtual machines of a pool are made
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerConfig {
    pub(crate) api_version: ProviderVersion,
    pub(crate) kind: kinds::WorkerConfig,
    pub(crate) devices: Option<Devices>,
    pub(crate) cpu: Option<Cpu>,
    pub(crate) memory: Option<Memory>,
    pub(crate) dns_policy: Option<String>,
    pub(crate) dns_config: Option<DnsConfig>,
    /// Import the root disk of every machine by itself instead of cloning one golden volume
    #[serde(default)]
    pub(crate) disable_pre_allocated_data_volumes: bool,
    #[serde(default)]
    pub(crate) overcommit_guest_overhead: bool,
    /// Public keys that may log in to the machines, as in an authorized_keys file; a field of kvshoot's own
    #[serde(default)]
    pub(crate) ssh_public_keys: Vec<String>,
    /// Cloud-config that is merged into that of the machines, as a text; a field of kvshoot's own, not for secrets
    pub(crate) user_data: Option<String>,
    /// CPU, memory and disks in place of what machine type, image and volume type say, as Kubermatic has them
    pub(crate) template: Option<Box<MachineTemplate>>,
    /// Instancetype of KubeVirt in place of a machine type's CPU and memory
    pub(crate) instancetype: Option<KubevirtMatcher>,
    /// Preference of KubeVirt
    pub(crate) preference: Option<KubevirtMatcher>,
    /// Which machines and hosts the machines need, or prefer, to be near
    pub(crate) affinity: Option<AffinityPresets>,
    /// How evenly the machines are spread; softly over hosts when absent
    #[serde(default)]
    pub(crate) topology_spread_constraints: Vec<TopologySpread>,
    /// What becomes of a machine whose host is emptied: External (`kvshoot evacuate` replaces it) or LiveMigrate; KubeVirt's default when absent
    pub(crate) eviction_strategy: Option<String>,
    /// Labels of the machines that say where they are
    pub(crate) location: Option<MachineLocation>,
    /// Subnet of Kube-OVN that the machines have their addresses from
    #[schemars(length(min = 1))]
    pub(crate) subnet: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Devices {
    #[serde(default)]
    pub(crate) disks: Vec<Disk>,
    pub(crate) rng: Option<Empty>,
    #[serde(default)]
    pub(crate) block_multi_queue: bool,
    #[serde(default)]
    pub(crate) network_interface_multiqueue: bool,
    /// The same as networkInterfaceMultiqueue, as the provider's documentation spells it
    #[serde(default)]
    pub(crate) network_interface_multi_queue: bool,
}

/// A mapping that says something by being there
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("properties" = {}))]
pub(crate) struct Empty {}

/// KubeVirt's Disk; what is given is handed on as it is
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Disk {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) disk: Option<DiskTarget>,
    pub(crate) lun: Option<LunTarget>,
    pub(crate) cdrom: Option<CdRomTarget>,
    pub(crate) boot_order: Option<u32>,
    pub(crate) cache: Option<String>,
    pub(crate) io: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) tag: Option<String>,
    #[serde(rename = "dedicatedIOThread")]
    pub(crate) dedicated_io_thread: Option<bool>,
    pub(crate) shareable: Option<bool>,
    pub(crate) error_policy: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiskTarget {
    pub(crate) bus: Option<String>,
    pub(crate) pci_address: Option<String>,
    pub(crate) readonly: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LunTarget {
    pub(crate) bus: Option<String>,
    pub(crate) readonly: Option<bool>,
    pub(crate) reservation: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CdRomTarget {
    pub(crate) bus: Option<String>,
    pub(crate) readonly: Option<bool>,
    pub(crate) tray: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cpu {
    pub(crate) cores: Option<u32>,
    pub(crate) sockets: Option<u32>,
    pub(crate) threads: Option<u32>,
    pub(crate) max_sockets: Option<u32>,
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) features: Vec<CpuFeature>,
    pub(crate) dedicated_cpu_placement: Option<bool>,
    pub(crate) isolate_emulator_thread: Option<bool>,
    pub(crate) numa: Option<Numa>,
    pub(crate) realtime: Option<Realtime>,
}

/// An object, or as the provider's documentation has it a plain name
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CpuFeature {
    Name(String),
    Object(CpuFeatureObject),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CpuFeatureObject {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) policy: Option<String>,
}

one_of!(CpuFeature { Name, Object(CpuFeatureObject) });

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Numa {
    pub(crate) guest_mapping_passthrough: Option<Empty>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Realtime {
    pub(crate) mask: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Memory {
    pub(crate) hugepages: Option<Hugepages>,
    pub(crate) guest: Option<Quantity>,
    pub(crate) max_guest: Option<Quantity>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hugepages {
    pub(crate) page_size: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DnsConfig {
    #[serde(default)]
    pub(crate) nameservers: Vec<String>,
    #[serde(default)]
    pub(crate) searches: Vec<String>,
    #[serde(default)]
    pub(crate) options: Vec<DnsOption>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DnsOption {
    pub(crate) name: Option<String>,
    pub(crate) value: Option<String>,
}
