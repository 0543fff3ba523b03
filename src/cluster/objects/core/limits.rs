//! ResourceQuotas and LimitRanges.

use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialResourceQuota {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: ResourceQuotaSpec,
    #[serde(default)]
    pub(crate) status: ResourceQuotaStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ResourceQuotaSpec {
    pub(crate) hard: BTreeMap<String, String>,
    scopes: Vec<String>,
    scope_selector: Option<Value>,
}

impl ResourceQuotaSpec {
    /// True if it limits only some of the pods.
    pub(crate) fn is_scoped(&self) -> bool {
        !self.scopes.is_empty() || self.scope_selector.is_some()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResourceQuotaStatus {
    pub(crate) used: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialLimitRange {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: LimitRangeSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LimitRangeSpec {
    pub(crate) limits: Vec<LimitRangeItem>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LimitRangeItem {
    /// Container, Pod or PersistentVolumeClaim.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) max: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) min: BTreeMap<String, String>,
    /// Limits of containers that have none.
    #[serde(default)]
    pub(crate) default: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) max_limit_request_ratio: BTreeMap<String, String>,
}
