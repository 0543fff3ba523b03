//! Gardener's CloudProfile, `core.gardener.cloud/v1beta1`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shoot::{ContainerRuntime, Metadata};
use crate::model::kubevirt::CloudProfileConfig;
use crate::model::scalar::{Ignored, Quantity, Unused};

/// What a provider cluster offers to shoots
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProfile {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) spec: CloudProfileSpec,
    pub(crate) status: Option<Ignored>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloudProfileSpec {
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub(crate) type_: String,
    pub(crate) kubernetes: KubernetesSettings,
    #[schemars(length(min = 1))]
    pub(crate) machine_images: Vec<MachineImage>,
    #[schemars(length(min = 1))]
    pub(crate) machine_types: Vec<MachineType>,
    #[serde(default)]
    pub(crate) volume_types: Vec<VolumeType>,
    #[schemars(length(min = 1))]
    pub(crate) regions: Vec<Region>,
    pub(crate) provider_config: CloudProfileConfig,
    pub(crate) ca_bundle: Option<String>,
    pub(crate) seed_selector: Option<Unused>,
    pub(crate) bastion: Option<Unused>,
    pub(crate) limits: Option<Unused>,
    pub(crate) machine_capabilities: Option<Unused>,
    pub(crate) capabilities: Option<Unused>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KubernetesSettings {
    #[schemars(length(min = 1))]
    pub(crate) versions: Vec<ExpirableVersion>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExpirableVersion {
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// Since when it cannot be chosen any more, such as 2026-06-30T23:59:59Z
    pub(crate) expiration_date: Option<String>,
    /// preview, supported or deprecated
    pub(crate) classification: Option<String>,
    pub(crate) lifecycle: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineImage {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    #[schemars(length(min = 1))]
    pub(crate) versions: Vec<MachineImageVersion>,
    pub(crate) update_strategy: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineImageVersion {
    #[schemars(length(min = 1))]
    pub(crate) version: String,
    /// Since when it cannot be chosen any more, such as 2026-06-30T23:59:59Z
    pub(crate) expiration_date: Option<String>,
    pub(crate) classification: Option<String>,
    #[serde(default)]
    pub(crate) cri: Vec<ImageCri>,
    pub(crate) architectures: Option<Unused>,
    pub(crate) kubelet_version_constraint: Option<Unused>,
    pub(crate) in_place_updates: Option<Unused>,
    pub(crate) capability_flavors: Option<Unused>,
    pub(crate) lifecycle: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImageCri {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) container_runtimes: Vec<ContainerRuntime>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MachineType {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) cpu: Quantity,
    pub(crate) gpu: Option<Quantity>,
    pub(crate) memory: Quantity,
    pub(crate) usable: Option<bool>,
    pub(crate) storage: Option<MachineTypeStorage>,
    pub(crate) architecture: Option<String>,
    pub(crate) capabilities: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineTypeStorage {
    pub(crate) class: String,
    pub(crate) size: Option<Quantity>,
    pub(crate) min_size: Option<Quantity>,
    #[serde(rename = "type")]
    pub(crate) type_: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolumeType {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Name of the StorageClass in the provider cluster
    #[schemars(length(min = 1))]
    pub(crate) class: String,
    pub(crate) usable: Option<bool>,
    pub(crate) min_size: Option<Quantity>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Region {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) zones: Vec<Zone>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) access_restrictions: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Zone {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) unavailable_machine_types: Vec<String>,
    #[serde(default)]
    pub(crate) unavailable_volume_types: Vec<String>,
}

impl CloudProfile {
    /// A profile that offers nothing.
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
