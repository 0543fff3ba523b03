//! The cluster of etcd, as the record knows it.

use serde::{Deserialize, Serialize};

/// The cluster of etcd that holds the shoot. Without it, a member may found one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdRecord {
    /// Number in the names of data directories; it rises when the data are restored. 0 for shoots of earlier releases,
    /// whose directory has no number.
    pub(crate) incarnation: u32,
    /// A decimal number; empty until a member could be asked for it.
    pub(crate) cluster_id: String,
    /// The highest revision that was observed.
    pub(crate) revision: u64,
}
