//! The context of the rules for pools.

use std::collections::HashSet;

use crate::model::Worker;
use crate::validate::context::Input;
use crate::validate::profile::index::ProfileIndex;
use crate::validate::report::FieldCursor;

/// The input and the indexed profiles.
pub(crate) struct ValidationContext<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) index: ProfileIndex<'a>,
    /// Index of the profile of the last run, for values that the current one no longer contains.
    pub(crate) previous_index: Option<ProfileIndex<'a>>,
}

/// A pool, its path, and its last applied version.
pub(crate) struct PoolContext<'s> {
    pub(crate) worker: &'s Worker,
    pub(crate) before: Option<&'s Worker>,
    pub(crate) at: FieldCursor<'s>,
}

impl<'s> PoolContext<'s> {
    /// First zone of the pool in which the machine or volume type is not available.
    pub(crate) fn zone_without(
        &self,
        without: &HashSet<(&str, &str)>,
        name: &str,
    ) -> Option<&'s str> {
        let mut zones = self.worker.zones.iter().map(String::as_str);
        zones.find(|zone| !without.is_empty() && without.contains(&(*zone, name)))
    }
}
