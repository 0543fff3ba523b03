//! Access to pods: commands in them, and pages that they serve.

pub(crate) mod exec;
pub(crate) mod proxy;
