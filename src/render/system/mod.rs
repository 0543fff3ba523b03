//! The components inside the shoot that make it a working cluster.
//!
//! All of them are in kube-system, except objects with a namespace that Kubernetes or kubeadm defines. Pods that a node
//! needs before it is ready (network, kube-proxy, konnectivity, CSI) run on every node, whatever its taints; all others
//! run on nodes of pools that allow system components.

pub(crate) mod addons;
mod bootstrap;
mod cluster_autoscaler;
pub(crate) mod context;
mod core_dns;
mod flannel;
mod konnectivity_agent;
mod kube_proxy;
mod kubernetes_endpoints;
pub(crate) mod machine_roots;
pub(crate) mod metrics_server;
pub(crate) mod objects;
mod pods;
pub(crate) mod rbac;
pub(crate) mod storage;
#[cfg(test)]
mod tests;

use crate::render::component::Component;
use addons::{dashboard, nginx_ingress};
use context::SystemContext;

/// All components of this shoot, in the order of their dependencies.
pub(crate) fn components(context: &SystemContext) -> Vec<Component> {
    let mut components: Vec<Component> = [
        Some(rbac::component(context)),
        Some(bootstrap::component(context)),
        machine_roots::component(context),
        cluster_autoscaler::component(context),
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
    .collect();
    if let Some(number) = context.token_generation {
        let objects = components.iter_mut().flat_map(|it| &mut it.objects);
        objects.for_each(|it| pods::restart_for_token(it, number));
    }
    // Otherwise the nodes of all pods are new, and so are their pods.
    let number = context.roots.number;
    if number > 0 && machine_roots::is_wanted(context.shoot) {
        let objects = components.iter_mut().flat_map(|it| &mut it.objects);
        objects.for_each(|it| pods::restart_for_ca(it, number));
    }
    components
}
