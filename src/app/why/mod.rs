//! `kvshoot why`: the root causes of an unhealthy shoot.

mod advice;
pub(crate) mod explain;
mod missing;
pub(crate) mod root_cause;
pub(crate) mod root_causes;
