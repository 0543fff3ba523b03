//! The shoot's own API server, and what users have in the provider through it.

use crate::state::facts::object::ObservedObject;
use crate::state::key::ObjectKey;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Objects of the shoot's users that also exist in the provider cluster. Observed only during deletion.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct UserResources {
    /// Objects of both clusters. PersistentVolumeClaims and pods only if they hold a volume.
    pub(crate) objects: BTreeMap<ObjectKey, ObservedObject>,
    /// Time since the run began at which an object was last deleted or started terminating.
    pub(crate) last_progress: Duration,
}

/// State of the connection to the shoot's API server.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) enum ShootApi {
    /// Not known to exist yet.
    #[default]
    Absent,
    /// It should answer but does not, with the reason.
    Unreachable(Arc<str>),
    /// Facts of the shoot are complete.
    Reachable,
}
