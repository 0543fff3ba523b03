//! The protocol by which the cluster autoscaler asks for node groups: its messages, and a server for them.
//!
//! It is `externalgrpc` of <https://github.com/kubernetes/autoscaler>, in the form of all versions since Kubernetes 1.33.

mod protocol;
mod server;
mod service;
#[cfg(test)]
mod tests;
mod tls;

#[cfg(test)]
pub(crate) use protocol::ProtoDuration;
pub(crate) use protocol::{
    AutoscalingOptions, Instance, InstanceError, InstanceState, NodeGroup, NodeTemplate,
    set_duration,
};
pub(crate) use server::{ServedShoot, serve};
pub(crate) use service::{AutoscalerError, CloudProvider, SizeChange};
pub(crate) use tls::server_config;
