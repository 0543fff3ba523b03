//! What runs inside the shoot and makes it a working cluster.
//!
//! All of it stands in kube-system but the objects whose place Kubernetes or kubeadm has fixed. Pods that a node needs
//! before it can serve (the network, kube-proxy, konnectivity, disks) go onto every node, whatever its taints; the rest
//! goes onto nodes of pools that allow system components.

pub(crate) mod addons;
mod bootstrap;
pub(crate) mod context;
mod core_dns;
mod flannel;
mod konnectivity_agent;
mod kube_proxy;
mod kubernetes_endpoints;
mod metrics_server;
pub(crate) mod objects;
mod pods;
pub(crate) mod rbac;
pub(crate) mod storage;
#[cfg(test)]
mod tests;

use crate::render::component::Component;
use addons::{dashboard, nginx_ingress};
use context::Context;

/// All that this shoot wants, in the order in which one rests on another.
pub(crate) fn components(context: &Context) -> Vec<Component> {
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
