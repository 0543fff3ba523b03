//! What `why`, `events`, `bundle` and failing runs report.

mod causes;
mod events;
mod guest_faults;
pub(crate) mod permissions;
mod support_bundle;
