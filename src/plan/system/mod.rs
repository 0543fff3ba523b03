//! What runs inside the shoot and makes it a working cluster.
//!
//! All of it stands in kube-system but the objects whose place Kubernetes or kubeadm has fixed. Pods that a node needs
//! before it can serve (the network, kube-proxy, konnectivity, disks) go onto every node, whatever its taints; the rest
//! goes onto nodes of pools that allow system components.

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

/// What the objects inside a shoot are made of.
pub(super) struct Context<'a> {
    pub(super) shoot: &'a ValidShoot,
    pub(super) site: Site<'a>,
    pub(super) known: &'a Known,
    /// StorageClasses of the provider.
    pub(super) classes: &'a BTreeMap<Arc<str>, StorageClass>,
}

/// Of the tunnels between nodes. Not the usual 8472 or 4789: machines stand in a network that may have tunnels itself,
/// and kernels take such packets for their own.
const TUNNEL_PORT: u16 = 8475;

/// All that this shoot wants, in the order in which one rests on another.
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

/// An address of a range of a valid shoot, by its number from the first.
pub(super) fn address(range: &str, number: u32) -> String {
    let range = Cidr::parse(range).expect("validation has read it once");
    range.address(number).to_string()
}
