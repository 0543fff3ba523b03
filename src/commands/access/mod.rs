//! Reaching clusters.

pub(super) mod exec;
pub(super) mod kubeconfig;
pub(super) mod tunnel;
