//! Metadata that all objects have.

use crate::state::names;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An object of any kind. The data of a Secret are not among its fields.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialObject {
    pub(crate) metadata: PartialObjectMeta,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialObjectMeta {
    pub(crate) name: String,
    /// None for cluster-scoped objects.
    pub(crate) namespace: Option<String>,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) generation: Option<i64>,
    pub(crate) creation_timestamp: Option<String>,
    /// Set once deletion was requested.
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) deletion_grace_period_seconds: Option<u64>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) finalizers: Vec<String>,
    #[serde(default)]
    pub(crate) owner_references: Vec<PartialOwnerReference>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialOwnerReference {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl PartialObjectMeta {
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// True if it has the labels of a shoot.
    pub(crate) fn belongs_to(&self, id: &str) -> bool {
        self.label(names::MANAGED_BY) == Some(names::KVSHOOT)
            && self.label(names::PART_OF) == Some(id)
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Seconds since 1970 by the server's clock.
    pub(crate) fn created(&self) -> Option<i64> {
        seconds(self.creation_timestamp.as_deref()?)
    }

    /// UID of the first owner.
    pub(crate) fn owner_uid(&self) -> Option<&str> {
        self.owner_references.first().map(|it| it.uid.as_str())
    }
}

/// Seconds since 1970 of an RFC 3339 timestamp.
pub(crate) fn seconds(timestamp: &str) -> Option<i64> {
    let time: jiff::Timestamp = timestamp.parse().ok()?;
    Some(time.as_second())
}
