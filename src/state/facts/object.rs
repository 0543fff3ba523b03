//! Objects, with what is known of each kind.

use crate::state::facts::secret::Secret;
use crate::state::facts::volume::Import;
use crate::state::facts::workload::{Rollout, Service};
use crate::state::hash::Hash;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) leaving: bool,
    pub(crate) fact: Fact,
}

/// What one kind tells beyond being there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fact {
    None,
    Image(Import),
    Secret(Secret),
    Service(Service),
    Rollout(Rollout),
    /// Claims that a pod mounts, or that a volume is bound to, by `namespace/name`.
    Holds(Arc<[Arc<str>]>),
    /// Of an APIService: None when it answers; else why it does not.
    Answer(Option<Arc<str>>),
}
