//! What is known of a control plane so far.

use crate::render::control_plane::context::{KONNECTIVITY_PORT, Known};
use crate::state::facts::{Fact, Facts, Service};
use crate::state::key::{Key, Kind, Side};
use crate::state::names::{self, part};
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Address, Exposure};
use std::sync::Arc;

/// Stands where an address will stand: what has it is not applied before it is known.
const UNKNOWN: &str = "0.0.0.0";

/// What the facts say, and placeholders for what they do not say yet.
pub(crate) fn known(shoot: &ValidShoot, facts: &Facts) -> Known {
    let fact = |kind, part| {
        let key = Key::provider(kind, names::control_plane(&shoot.id, part));
        facts.objects.get(&key).map(|it| &it.fact)
    };
    let service = |part| match fact(Kind::Service, part) {
        Some(Fact::Service(it)) => it.clone(),
        _ => Service::default(),
    };
    let cluster_ip = facts.cluster_ip(&shoot.id);
    let cluster_ip = cluster_ip.unwrap_or_else(|| UNKNOWN.into());
    let (external, outer_konnectivity) = external(shoot, &service(part::EXTERNAL));
    let ca = match fact(Kind::Secret, part::CA) {
        Some(Fact::Secret(it)) => it.ca.clone(),
        _ => None,
    };
    let checksums = facts.objects.iter().filter_map(|(key, it)| match &it.fact {
        Fact::Secret(secret) if key.side == Side::Provider => {
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
    Known {
        cluster_ip,
        external,
        node_address,
        konnectivity_port,
        ca: ca.unwrap_or_else(|| "".into()),
        checksums: checksums.collect(),
    }
}

/// By which people reach the API server, and the port of the konnectivity server there.
pub(crate) fn external(shoot: &ValidShoot, service: &Service) -> (Option<Address>, u16) {
    let unknown: Arc<str> = UNKNOWN.into();
    match &shoot.control_plane.exposure {
        Exposure::None => (None, KONNECTIVITY_PORT),
        Exposure::LoadBalancer { .. } => {
            let host = service.ingress.as_ref().unwrap_or(&unknown).to_string();
            let port = API_PORT;
            (Some(Address { host, port }), KONNECTIVITY_PORT)
        }
        Exposure::NodePort { address, port } => {
            let host = address.clone();
            let of = |name: &str| service.node_ports.get(name).copied();
            let port = port.or(of("https")).unwrap_or_default();
            let konnectivity = of("konnectivity").unwrap_or_default();
            (Some(Address { host, port }), konnectivity)
        }
    }
}

/// Whether machines reach a ClusterIP: a tenant network in place of the pod network keeps them off it.
fn has_pod_network(shoot: &ValidShoot) -> bool {
    use crate::validate::Network;
    let mut networks = shoot.networks.iter();
    !networks.any(|it| matches!(it, Network::Tenant { default: true, .. }))
}
