//! The pool under validation, and what it is held against.

use std::collections::HashSet;

use crate::model::Worker;
use crate::validate::context::Input;
use crate::validate::profile::index::Offer;
use crate::validate::report::At;

/// What the pools are judged with.
pub(crate) struct Judge<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) offer: Offer<'a>,
    /// What the last run chose from, for what is no longer offered.
    pub(crate) offer_before: Option<Offer<'a>>,
}

/// One pool, where it stands and what it was.
pub(crate) struct Scope<'s> {
    pub(crate) worker: &'s Worker,
    pub(crate) before: Option<&'s Worker>,
    pub(crate) at: At<'s>,
}

impl<'s> Scope<'s> {
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
