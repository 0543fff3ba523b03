//! Parts that the workloads of a control plane have in common.

pub(crate) mod account;
pub(crate) mod flags;
pub(crate) mod network_policy;
pub(crate) mod pod;
pub(crate) mod replicas;
pub(crate) mod resources;
pub(crate) mod volume;
