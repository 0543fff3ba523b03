//! The components inside the shoot that make it a working cluster.
//!
//! All of them are in kube-system, except objects with a namespace that Kubernetes or kubeadm defines. Pods that a node
//! needs before it is ready (network, kube-proxy, konnectivity, CSI) run on every node, whatever its taints; all others
//! run on nodes of pools that allow system components.

mod assemble;
mod bootstrap;
mod bundle;
mod calico;
mod core_dns;
mod dashboard;
mod flannel;
mod konnectivity_agent;
mod kube_proxy;
mod kubernetes_endpoints;
mod metrics_server;
mod nginx_ingress;
mod objects;
mod pods;
mod rbac;
mod snapshots;
mod storage;
#[cfg(test)]
mod tests;

use super::Site;
use super::component::Component;
use super::control_plane::Known;
use super::observed::StorageClass;
use crate::model::Cidr;
use crate::validate::ValidShoot;
pub(super) use assemble::add;
pub(crate) use rbac::ADMINS;
use std::collections::BTreeMap;
use std::sync::Arc;
pub(crate) use storage::DRIVER;

/// Input for the objects inside a shoot.
pub(super) struct Context<'a> {
    pub(super) shoot: &'a ValidShoot,
    pub(super) site: Site<'a>,
    pub(super) known: &'a Known,
    /// StorageClasses of the provider.
    pub(super) classes: &'a BTreeMap<Arc<str>, StorageClass>,
}

/// Port of the tunnels between nodes. Not 8472 or 4789: the network of the machines may use tunnels itself, and kernels
/// would take such packets for their own.
const TUNNEL_PORT: u16 = 8475;

/// All components of this shoot, in the order of their dependencies.
pub(super) fn components(context: &Context) -> Vec<Component> {
    [
        Some(rbac::component(context)),
        Some(bootstrap::component(context)),
        kubernetes_endpoints::component(context),
        kube_proxy::component(context),
        flannel::component(context),
        Some(konnectivity_agent::component(context)),
        Some(core_dns::component(context)),
        Some(metrics_server::component(context)),
        Some(storage::component(context)),
        dashboard::component(context),
        nginx_ingress::component(context),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the address with this number in an address range of a valid shoot.
pub(super) fn address(range: &str, number: u32) -> String {
    let range = Cidr::parse(range).expect("validation has read it once");
    range.address(number).to_string()
}
