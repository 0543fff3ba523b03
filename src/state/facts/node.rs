//! Nodes of the shoot.

use serde_json::Value;
use std::sync::Arc;

/// A node of the shoot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObservedNode {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Ready and initialized by the cloud controller manager.
    pub(crate) serves: bool,
    /// Why it is not ready.
    pub(crate) why: Arc<str>,
    /// Its provider ID belongs to a machine of kvshoot.
    pub(crate) is_ours: bool,
    pub(crate) taints: Arc<[Value]>,
    /// Labels, annotations and taints that the pool set on it, as canonical JSON.
    pub(crate) metadata: Arc<str>,
}
