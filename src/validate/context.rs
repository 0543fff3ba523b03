//! The input of the rules.

use std::sync::Arc;

use crate::model::{CloudProfile, Shoot};

/// A Shoot and the documents that it is validated against.
pub(crate) struct Input<'a> {
    pub(crate) shoot: &'a Arc<Shoot>,
    pub(crate) profile: &'a CloudProfile,
    /// The Shoot as last applied; unchanged values are not validated against the profile again.
    pub(crate) previous: Option<&'a Shoot>,
    /// The CloudProfile of the last run, for values that the current one no longer contains.
    pub(crate) previous_profile: Option<&'a CloudProfile>,
    /// Current time, for expiration dates.
    pub(crate) now: jiff::Timestamp,
}
