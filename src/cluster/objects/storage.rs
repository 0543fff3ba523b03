//! StorageClasses, PersistentVolumes with their attachments, and PersistentVolumeClaims.

use super::condition::PartialCondition;
use super::metadata::PartialObjectMeta;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialStorageClass {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) provisioner: String,
    #[serde(default)]
    pub(crate) volume_binding_mode: String,
    #[serde(default)]
    pub(crate) reclaim_policy: String,
    #[serde(default)]
    pub(crate) allow_volume_expansion: bool,
    #[serde(default)]
    allowed_topologies: Vec<TopologyTerm>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TopologyTerm {
    match_label_expressions: Vec<TopologyRequirement>,
}

#[derive(Debug, Clone, Deserialize)]
struct TopologyRequirement {
    key: String,
}

/// A PersistentVolume, as far as its StorageClass.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct VolumeClass {
    spec: VolumeClassSpec,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumeClassSpec {
    #[serde(default)]
    storage_class_name: String,
}

impl VolumeClass {
    /// Empty for a volume without a class.
    pub(crate) fn name(&self) -> &str {
        &self.spec.storage_class_name
    }
}

/// A PersistentVolumeClaim, as far as its StorageClass.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ClaimClass {
    spec: StorageRequest,
}

impl ClaimClass {
    /// None for a claim that waits for a default class.
    pub(crate) fn name(&self) -> Option<&str> {
        self.spec.storage_class()
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialPersistentVolume {
    pub(crate) metadata: PartialObjectMeta,
    pub(crate) spec: PersistentVolumeSpec,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersistentVolumeSpec {
    #[serde(default)]
    pub(crate) persistent_volume_reclaim_policy: String,
    pub(crate) claim_ref: Option<ClaimReference>,
    csi: Option<CsiVolume>,
}

/// The PersistentVolumeClaim that a volume is bound to.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ClaimReference {
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) name: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CsiVolume {
    driver: String,
    #[serde(default)]
    volume_handle: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialClaim {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: StorageRequest,
    #[serde(default)]
    pub(crate) status: ClaimStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimStatus {
    pub(crate) phase: String,
    capacity: StorageQuantities,
    conditions: Vec<PartialCondition>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialVolumeAttachment {
    pub(crate) metadata: PartialObjectMeta,
    pub(crate) spec: VolumeAttachmentSpec,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolumeAttachmentSpec {
    pub(crate) node_name: String,
    source: AttachedVolume,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AttachedVolume {
    persistent_volume_name: String,
}

/// Settings of CDI for a StorageClass.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PartialStorageProfile {
    status: StorageProfileStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StorageProfileStatus {
    claim_property_sets: Vec<ClaimPropertySet>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimPropertySet {
    access_modes: Vec<String>,
}

/// The part that claims and DataVolumes have in common.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StorageRequest {
    storage_class_name: Option<String>,
    resources: StorageResources,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct StorageResources {
    requests: StorageQuantities,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct StorageQuantities {
    storage: Option<QuantityText>,
}

/// A quantity as text. Custom resources may hold it as a number, too.
#[derive(Debug, Clone)]
struct QuantityText(String);

impl<'de> Deserialize<'de> for QuantityText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QuantityText, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = QuantityText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<QuantityText, E> {
        Ok(QuantityText(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<QuantityText, E> {
        Ok(QuantityText(number.to_string()))
    }
}

impl PartialStorageClass {
    /// True if its volumes belong to one zone: by topology, or because they are created where a pod needs them.
    pub(crate) fn is_zonal(&self) -> bool {
        let terms = self.allowed_topologies.iter();
        let mut keys = terms.flat_map(|it| &it.match_label_expressions);
        keys.any(|it| it.key.ends_with("/zone"))
            || self.volume_binding_mode == "WaitForFirstConsumer"
    }
}

impl PartialStorageProfile {
    pub(crate) fn access_modes(&self) -> Vec<&str> {
        let sets = self.status.claim_property_sets.iter();
        sets.flat_map(|it| &it.access_modes)
            .map(String::as_str)
            .collect()
    }
}

impl PartialVolumeAttachment {
    /// Name of its PersistentVolume; empty for a volume without one.
    pub(crate) fn volume(&self) -> &str {
        &self.spec.source.persistent_volume_name
    }
}

impl PersistentVolumeSpec {
    /// Name of its CSI driver.
    pub(crate) fn driver(&self) -> Option<&str> {
        self.csi.as_ref().map(|it| it.driver.as_str())
    }

    /// Name of the volume for a CSI driver; None if it is of another one.
    pub(crate) fn handle(&self, driver: &str) -> Option<&str> {
        let volume = self.csi.as_ref().filter(|it| it.driver == driver)?;
        Some(&volume.volume_handle)
    }
}

impl ClaimStatus {
    /// Size of the volume, as a quantity.
    pub(crate) fn capacity(&self) -> Option<&str> {
        self.capacity.storage.as_ref().map(|it| it.0.as_str())
    }

    /// The condition of a volume that is being expanded.
    pub(crate) fn resizing(&self) -> Option<&PartialCondition> {
        let mut conditions = self.conditions.iter().filter(|it| it.is_true());
        conditions.find(|it| it.kind.contains("Resiz"))
    }
}

impl StorageRequest {
    /// Requested size, as a quantity.
    pub(crate) fn size(&self) -> Option<&str> {
        let storage = self.resources.requests.storage.as_ref();
        storage.map(|it| it.0.as_str())
    }

    /// None for the default class.
    pub(crate) fn storage_class(&self) -> Option<&str> {
        self.storage_class_name.as_deref()
    }
}
