//! What `why`, `events`, `bundle` and failing runs report.

mod causes;
mod events;
mod guest_faults;
mod permissions;
mod support_bundle;
