//! The control plane's pods in the provider namespace, and the objects they need.

pub(crate) mod api_server;
mod authentication;
pub(crate) mod certificate;
pub(crate) mod cloud_controller;
pub(crate) mod cluster_autoscaler;
pub(crate) mod context;
pub(crate) mod controller_manager;
pub(crate) mod csi;
pub(crate) mod etcd;
pub(crate) mod known;
pub(crate) mod konnectivity;
pub(crate) mod parts;
pub(crate) mod scheduler;
pub(crate) mod service;
#[cfg(test)]
mod tests;

use crate::render::component::Component;
use crate::state::facts::EtcdStart;
use context::ControlPlaneContext;

/// The components with pods, once all members of etcd have joined.
pub(crate) fn workloads(context: &ControlPlaneContext) -> Vec<Component> {
    let members = context.members();
    let shape = etcd::EtcdShape {
        replicas: members,
        start: EtcdStart::Sealed,
        voters: Vec::new(),
        incarnation: etcd::FIRST,
        snapshot: 0,
    };
    let mut all = vec![
        etcd::component(context, &shape, &etcd::EtcdSizes::default()),
        api_server::component(context, members),
        controller_manager::component(context),
        scheduler::component(context),
        cloud_controller::component(context),
        csi::component(context),
    ];
    all.extend(cluster_autoscaler::component(context));
    all
}
