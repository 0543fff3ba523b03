//! Nodes of the shoot.

use super::health::NodeConditions;
use serde_json::Value;
use std::sync::Arc;

/// A node of the shoot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObservedNode {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Seconds since 1970; None if unknown.
    pub(crate) created: Option<i64>,
    /// Ready and initialized by the cloud controller manager.
    pub(crate) serves: bool,
    /// Why it is not ready.
    pub(crate) why: Arc<str>,
    pub(crate) conditions: NodeConditions,
    /// Its provider ID belongs to a machine of kvshoot.
    pub(crate) is_ours: bool,
    pub(crate) taints: Arc<[Value]>,
    /// Labels, annotations and taints that the pool set on it, as canonical JSON.
    pub(crate) metadata: Arc<str>,
    /// The CAs that its kubelet trusts, as its machine reports them; empty if it takes none in place.
    pub(crate) roots: Arc<str>,
    pub(crate) info: NodeInfo,
}

/// Fields of a node that kubectl shows. Only displayed: plans do not depend on them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NodeInfo {
    /// Readiness reported by its kubelet. A ready kubelet may still have taints that keep pods off.
    pub(crate) is_kubelet_ready: bool,
    /// Marked unschedulable.
    pub(crate) cordoned: bool,
    pub(crate) roles: Arc<[Arc<str>]>,
    pub(crate) kubelet_version: Arc<str>,
    /// Internal IP address.
    pub(crate) address: Option<Arc<str>>,
}
