//! The pool under validation, and what it is held against.

use std::collections::HashSet;

use crate::model::Worker;
use crate::validate::context::Input;
use crate::validate::profile::index::ProfileIndex;
use crate::validate::report::FieldCursor;

/// What the pools are judged with.
pub(crate) struct ValidationContext<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) index: ProfileIndex<'a>,
    /// What the last run chose from, for what is no longer offered.
    pub(crate) previous_index: Option<ProfileIndex<'a>>,
}

/// One pool, where it stands and what it was.
pub(crate) struct PoolContext<'s> {
    pub(crate) worker: &'s Worker,
    pub(crate) before: Option<&'s Worker>,
    pub(crate) at: FieldCursor<'s>,
}

impl<'s> PoolContext<'s> {
    /// The first zone of the pool in which something of that name is not to be had.
    pub(crate) fn zone_without(
        &self,
        without: &HashSet<(&str, &str)>,
        name: &str,
    ) -> Option<&'s str> {
        let mut zones = self.worker.zones.iter().map(String::as_str);
        zones.find(|zone| !without.is_empty() && without.contains(&(*zone, name)))
    }
}
