//! The input of the rules.

use std::sync::Arc;

use crate::model::{CloudProfile, Shoot};

/// What is judged together.
pub(crate) struct Input<'a> {
    pub(crate) shoot: &'a Arc<Shoot>,
    pub(crate) profile: &'a CloudProfile,
    /// The Shoot as it was applied last; what is unchanged since is not judged again.
    pub(crate) before: Option<&'a Shoot>,
    /// The profile of that time, for what the present one no longer offers.
    pub(crate) profile_before: Option<&'a CloudProfile>,
    /// The day of the judgement, for expiration dates.
    pub(crate) now: jiff::Timestamp,
}
