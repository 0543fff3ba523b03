//! The newest backup of a shoot, as an annotation of its record.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the annotation.
pub(crate) const LAST_BACKUP: &str = "kvshoot.io/last-backup";

/// The newest backup. It was read back and had the right hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastBackup {
    pub(crate) name: String,
    /// RFC 3339.
    pub(crate) created: String,
    /// Path, or URL without credentials.
    pub(crate) location: String,
    /// Revision of etcd that it has at least.
    pub(crate) revision: u64,
}

impl LastBackup {
    /// None if there was none, or if the annotation is not valid.
    pub(crate) fn of(annotations: &BTreeMap<String, String>) -> Option<LastBackup> {
        serde_json::from_str(annotations.get(LAST_BACKUP)?).ok()
    }
}
