//! Observed objects and their status by kind.

use crate::state::facts::secret::ObservedSecret;
use crate::state::facts::volume::ImageImport;
use crate::state::facts::workload::{ObservedService, Rollout};
use crate::state::hash::Hash;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObservedObject {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) leaving: bool,
    pub(crate) status: ObjectStatus,
}

/// Status of an object beyond its existence, by kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ObjectStatus {
    None,
    Image(ImageImport),
    Secret(ObservedSecret),
    Service(ObservedService),
    Rollout(Rollout),
    /// PersistentVolumeClaims that a pod mounts, or that a volume is bound to, by `namespace/name`.
    Holds(Arc<[Arc<str>]>),
    /// When a bootstrap token was created, in seconds since 1970.
    Token(i64),
    /// State of an APIService: None if it is available, otherwise the reason.
    Answer(Option<Arc<str>>),
}
