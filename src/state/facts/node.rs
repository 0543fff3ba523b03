//! Nodes of the shoot.

use serde_json::Value;
use std::sync::Arc;

/// A node of the shoot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Ready, and known to the cloud controller manager.
    pub(crate) serves: bool,
    /// Why it does not serve.
    pub(crate) why: Arc<str>,
    /// Its provider ID says that it is a machine of kvshoot's.
    pub(crate) is_ours: bool,
    pub(crate) taints: Arc<[Value]>,
    /// The pool's labels, annotations and taints as they were put on it, as canonical JSON.
    pub(crate) metadata: Arc<str>,
}
