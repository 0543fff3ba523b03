//! Access to a cluster's API server.

pub(crate) mod certificate;
pub(crate) mod exec;
pub(crate) mod kubeconfig;
pub(crate) mod process;
pub(crate) mod tunnel;
