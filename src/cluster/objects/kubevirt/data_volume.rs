//! DataVolumes of CDI.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::metadata::PartialObjectMeta;
use crate::cluster::objects::storage::StorageRequest;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialDataVolume {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    spec: DataVolumeClaims,
    #[serde(default)]
    pub(crate) status: DataVolumeStatus,
}

/// A DataVolume has either of them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DataVolumeClaims {
    storage: Option<StorageRequest>,
    pvc: Option<StorageRequest>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DataVolumeStatus {
    pub(crate) phase: String,
    /// `43.10%`; `N/A` before the import begins.
    pub(crate) progress: String,
    /// Restarts of the importer.
    pub(crate) restart_count: i64,
    pub(crate) claim_name: Option<String>,
    pub(crate) conditions: Vec<PartialCondition>,
}

impl PartialDataVolume {
    /// Requested size, as a quantity.
    pub(crate) fn size(&self) -> Option<&str> {
        let claims = [&self.spec.storage, &self.spec.pvc].into_iter().flatten();
        claims.filter_map(StorageRequest::size).next()
    }

    /// Name of its StorageClass; None for the default one.
    pub(crate) fn storage_class(&self) -> Option<&str> {
        let claims = [&self.spec.storage, &self.spec.pvc].into_iter().flatten();
        let mut classes = claims.filter_map(StorageRequest::storage_class);
        classes.find(|it| !it.is_empty())
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&PartialCondition> {
        PartialCondition::find(&self.status.conditions, kind)
    }
}
