//! One writer per shoot: a Lease, and the fence that each write has to pass.

pub(crate) mod acquire;
pub(crate) mod current_run;
pub(crate) mod fence;
pub(crate) mod keeper;
pub(crate) mod lease;
