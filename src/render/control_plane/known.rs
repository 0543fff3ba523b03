//! Facts of a control plane that are known so far.

use crate::render::control_plane::context::{ControlPlaneFacts, KONNECTIVITY_PORT};
use crate::state::facts::{Facts, ObjectStatus, ObservedService};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::{self, part};
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Address, ApiServerExposure};
use std::sync::Arc;

/// Placeholder for an address that is not known yet. Objects that contain it are not applied.
const UNKNOWN: &str = "0.0.0.0";

/// Collects addresses and checksums from the facts, with placeholders for those that are not known yet.
pub(crate) fn known(shoot: &ValidShoot, facts: &Facts) -> ControlPlaneFacts {
    let fact = |kind, part| {
        let key = ObjectKey::provider(kind, names::control_plane(&shoot.id, part));
        facts.objects.get(&key).map(|it| &it.status)
    };
    let service = |part| match fact(ObjectKind::Service, part) {
        Some(ObjectStatus::Service(it)) => it.clone(),
        _ => ObservedService::default(),
    };
    let cluster_ip = facts.cluster_ip(&shoot.id);
    let cluster_ip = cluster_ip.unwrap_or_else(|| UNKNOWN.into());
    let (external, outer_konnectivity) = external(shoot, &service(part::EXTERNAL));
    let ca = match fact(ObjectKind::Secret, part::CA) {
        Some(ObjectStatus::Secret(it)) => it.ca.clone(),
        _ => None,
    };
    let checksums = facts
        .objects
        .iter()
        .filter_map(|(key, object)| match &object.status {
            ObjectStatus::Secret(secret) if key.side == ClusterSide::Provider => {
                Some((key.name.clone(), secret.checksum))
            }
            _ => None,
        });
    let inner = Address {
        host: cluster_ip.to_string(),
        port: API_PORT,
    };
    let outer = external.clone().map(|it| (it, outer_konnectivity));
    let (node_address, konnectivity_port) = match &shoot.control_plane.node_address {
        Some(given) => match outer.filter(|it| it.0 == *given) {
            Some(outer) => outer,
            None => (given.clone(), KONNECTIVITY_PORT),
        },
        None if has_pod_network(shoot) => (inner, KONNECTIVITY_PORT),
        None => outer.unwrap_or((inner, KONNECTIVITY_PORT)),
    };
    ControlPlaneFacts {
        cluster_ip,
        external,
        node_address,
        konnectivity_port,
        ca: ca.unwrap_or_else(|| "".into()),
        checksums: checksums.collect(),
    }
}

/// Returns the external address of the API server, and the port of the konnectivity server there.
pub(crate) fn external(shoot: &ValidShoot, service: &ObservedService) -> (Option<Address>, u16) {
    let unknown: Arc<str> = UNKNOWN.into();
    match &shoot.control_plane.exposure {
        ApiServerExposure::None => (None, KONNECTIVITY_PORT),
        ApiServerExposure::LoadBalancer { .. } => {
            let host = service.ingress.as_ref().unwrap_or(&unknown).to_string();
            let port = API_PORT;
            (Some(Address { host, port }), KONNECTIVITY_PORT)
        }
        ApiServerExposure::NodePort { address, port } => {
            let host = address.clone();
            let of = |name: &str| service.node_ports.get(name).copied();
            let port = port.or(of("https")).unwrap_or_default();
            let konnectivity = of("konnectivity").unwrap_or_default();
            (Some(Address { host, port }), konnectivity)
        }
    }
}

/// Returns whether machines reach the API server by its external address.
pub(crate) fn is_external_for_machines(shoot: &ValidShoot, known: &ControlPlaneFacts) -> bool {
    match &shoot.control_plane.node_address {
        Some(given) => known.external.as_ref() == Some(given),
        None => !has_pod_network(shoot),
    }
}

/// Returns whether machines can reach a ClusterIP. They cannot if a tenant network replaces the pod network.
pub(super) fn has_pod_network(shoot: &ValidShoot) -> bool {
    use crate::validate::Network;
    let mut networks = shoot.networks.iter();
    !networks.any(|it| matches!(it, Network::Tenant { default: true, .. }))
}
