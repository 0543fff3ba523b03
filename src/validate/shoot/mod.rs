//! The rules of a Shoot, except for its pools.

mod api_server;
pub(in crate::validate) mod cluster_autoscaler;
mod cni;
mod component_settings;
pub(crate) mod control_plane;
pub(super) mod infrastructure;
mod ipam;
pub(super) mod kubelet;
pub(super) mod kubernetes;
pub(super) mod maintenance;
pub(super) mod metadata;
pub(super) mod networking;
pub(super) mod preallocated_data_volumes;
mod source_ranges;
pub(super) mod spec;
