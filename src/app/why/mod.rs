//! `kvshoot why`: the root causes of an unhealthy shoot.

mod advice;
pub(crate) mod explain;
mod finding;
pub(crate) mod findings;
mod missing;
