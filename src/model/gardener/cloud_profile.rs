//! Gardener's CloudProfile, `core.gardener.cloud/v1beta1`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shoot::{ContainerRuntime, Metadata};
use crate::model::kubevirt::CloudProfileConfig;
use crate::model::scalar::{Ignored, Quantity, Unused, Version, VersionConstraint};

/// Machine types, images, volume types and regions that shoots can choose from
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProfile {
    /// Always core.gardener.cloud/v1beta1
    pub(crate) api_version: String,
    /// Always CloudProfile
    pub(crate) kind: String,
    /// Name of the profile, which shoots refer to
    pub(crate) metadata: Metadata,
    /// Machine types, images and versions of the profile
    pub(crate) spec: CloudProfileSpec,
    pub(crate) status: Option<Ignored>,
}

/// Machine types, images and versions that a CloudProfile offers
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProfileSpec {
    /// Provider type: kubevirt
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    /// Kubernetes versions that shoots can run
    pub(crate) kubernetes: KubernetesSettings,
    /// Operating system images of machines, and their versions
    #[schemars(length(min = 1))]
    pub(crate) machine_images: Vec<MachineImage>,
    /// CPU and memory of machines, by name
    #[schemars(length(min = 1))]
    pub(crate) machine_types: Vec<MachineType>,
    /// Types of volumes, each with its StorageClass in the provider cluster
    #[serde(default)]
    pub(crate) volume_types: Vec<VolumeType>,
    /// Regions and their zones
    #[schemars(length(min = 1))]
    pub(crate) regions: Vec<Region>,
    /// Settings of the KubeVirt provider: image sources, limits, downloads
    pub(crate) provider_config: CloudProfileConfig,
    /// Additional CA certificates in PEM, trusted by the machines
    pub(crate) ca_bundle: Option<String>,
    /// No effect: kvshoot has no seed clusters
    pub(crate) seed_selector: Option<Unused>,
    /// No effect: kvshoot creates no bastion hosts
    pub(crate) bastion: Option<Unused>,
    /// No effect: use a ResourceQuota in the provider namespace
    pub(crate) limits: Option<Unused>,
    /// No effect: machine types and images are not matched by capabilities
    pub(crate) machine_capabilities: Option<Unused>,
    /// No effect: machine types and images are not matched by capabilities
    pub(crate) capabilities: Option<Unused>,
}

/// Kubernetes versions that shoots can run
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KubernetesSettings {
    /// Versions with their classification and expiration
    #[schemars(length(min = 1))]
    pub(crate) versions: Vec<ExpirableVersion>,
}

/// A version, its classification, and when it expires
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExpirableVersion {
    /// Full version such as 1.34.2
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// Time from which the version cannot be chosen anymore, such as 2026-06-30T23:59:59Z
    pub(crate) expiration_date: Option<String>,
    /// One of preview, supported and deprecated
    pub(crate) classification: Option<String>,
    /// No effect: use expirationDate and classification
    pub(crate) lifecycle: Option<Unused>,
}

/// An operating system image and its versions
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineImage {
    /// Name of the image, such as ubuntu
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Versions of the image
    #[schemars(length(min = 1))]
    pub(crate) versions: Vec<MachineImageVersion>,
    /// Versions that automatic updates stay within: patch for the same minor version, minor for the same major version, and
    /// major for all; major when absent
    pub(crate) update_strategy: Option<String>,
}

/// A version of an operating system image
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineImageVersion {
    /// Version such as 24.04
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// Time from which the version cannot be chosen anymore, such as 2026-06-30T23:59:59Z
    pub(crate) expiration_date: Option<String>,
    /// One of preview, supported and deprecated
    pub(crate) classification: Option<String>,
    /// Container runtimes that the image supports
    #[serde(default)]
    pub(crate) cri: Vec<ImageCri>,
    /// CPU architectures that the image runs on: amd64 and arm64; amd64 when empty
    #[serde(default)]
    pub(crate) architectures: Vec<String>,
    /// Kubernetes versions whose kubelet runs on the image, such as >= 1.33.0, < 1.36.0; all when absent
    pub(crate) kubelet_version_constraint: Option<String>,
    /// No effect: machines are replaced, or restarted with another size, which any image allows
    pub(crate) in_place_updates: Option<Unused>,
    /// No effect: machine types and images are not matched by capabilities
    pub(crate) capability_flavors: Option<Unused>,
    /// No effect: use expirationDate and classification
    pub(crate) lifecycle: Option<Unused>,
}

impl MachineImageVersion {
    /// True if the kubelet of a Kubernetes version runs on the image. A constraint that is invalid is reported elsewhere.
    pub(crate) fn supports_kubelet(&self, kubernetes: &str) -> bool {
        let constraint = self.kubelet_version_constraint.as_deref();
        let constraint = constraint.and_then(VersionConstraint::parse);
        let known = constraint.zip(Version::parse(kubernetes));
        known.is_none_or(|(constraint, version)| constraint.matches(&version))
    }
}

/// A container runtime of an image
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImageCri {
    /// Name of the container runtime interface: containerd
    pub(crate) name: String,
    /// Further runtimes on the image, such as gvisor
    #[serde(default)]
    pub(crate) container_runtimes: Vec<ContainerRuntime>,
}

/// CPU and memory of a machine
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineType {
    /// Name that worker pools refer to
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Number of CPUs
    pub(crate) cpu: Quantity,
    /// Number of GPUs; providerConfig.devices.gpus of a pool names them
    pub(crate) gpu: Option<Quantity>,
    /// Amount of memory
    pub(crate) memory: Quantity,
    /// Specifies whether pools can choose the type; true when absent
    pub(crate) usable: Option<bool>,
    /// No effect: the root disk is the volume of the pool
    pub(crate) storage: Option<MachineTypeStorage>,
    /// CPU architecture of the machines: amd64 or arm64; that of the provider cluster when absent
    pub(crate) architecture: Option<String>,
    /// No effect: machine types and images are not matched by capabilities
    pub(crate) capabilities: Option<Unused>,
}

/// Root disk that comes with a machine type
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineTypeStorage {
    /// Storage class: standard or premium
    pub(crate) class: String,
    /// Size of the disk
    pub(crate) size: Option<Quantity>,
    /// Minimum size of the disk
    pub(crate) min_size: Option<Quantity>,
    /// Type of the disk
    #[serde(rename = "type")]
    pub(crate) type_: String,
}

/// A type of volume and its StorageClass
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolumeType {
    /// Name that worker pools refer to
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Name of the StorageClass in the provider cluster
    #[schemars(length(min = 1))]
    pub(crate) class: String,
    /// Specifies whether pools can choose the type; true when absent
    pub(crate) usable: Option<bool>,
    /// Minimum size of volumes of the type
    pub(crate) min_size: Option<Quantity>,
}

/// A region and its zones
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Region {
    /// Name of the region; the value of topology.kubernetes.io/region on provider nodes
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Zones of the region
    #[serde(default)]
    pub(crate) zones: Vec<Zone>,
    /// No effect: nothing selects regions by labels
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// No effect: they concern seed clusters, which kvshoot does not have
    pub(crate) access_restrictions: Option<Unused>,
}

/// A zone of a region
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Zone {
    /// Name of the zone; the value of topology.kubernetes.io/zone on provider nodes
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Names of machine types that the zone does not have
    #[serde(default)]
    pub(crate) unavailable_machine_types: Vec<String>,
    /// Names of volume types that the zone does not have
    #[serde(default)]
    pub(crate) unavailable_volume_types: Vec<String>,
}

impl CloudProfile {
    /// An empty profile.
    pub(crate) fn nothing() -> Self {
        Self {
            api_version: String::new(),
            kind: String::new(),
            metadata: Metadata::default(),
            spec: CloudProfileSpec::default(),
            status: None,
        }
    }
}
