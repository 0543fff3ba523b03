//! The shoot's own API server, and what users have in the provider through it.

use crate::state::facts::object::Object;
use crate::state::key::Key;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What users of the shoot have that is something in the provider as well; looked at only when the shoot goes.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Guests {
    /// Of both sides; claims and pods only as far as they hold a volume.
    pub(crate) things: BTreeMap<Key, Object>,
    /// When the last one of them went or began to, since the run began.
    pub(crate) moved: Duration,
}

/// Whether the shoot's own API server is looked at.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) enum Inside {
    /// Nothing is known to be there yet.
    #[default]
    Absent,
    /// It should answer and does not; says why.
    Unreachable(Arc<str>),
    /// What is in the facts of that side is whole.
    Observed,
}
