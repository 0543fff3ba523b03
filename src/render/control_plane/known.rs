//! Facts of a control plane that are known so far.

use crate::render::control_plane::context::{ControlPlaneFacts, KONNECTIVITY_PORT};
use crate::state::facts::{Facts, ObjectStatus, ObservedService};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::{self, part};
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Address, ApiServerExposure};
use std::net::Ipv4Addr;
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
    let node_address = Address {
        host: for_machines(&node_address.host),
        ..node_address
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

/// Returns the address at which machines reach an address of the provider cluster.
///
/// Services of a sandbox have loopback addresses, and with those a machine would reach itself. So the network of the
/// machines forwards 198.18.0.0/15, a range for tests of networks, to them: 198.18.0.0/16 to the cluster IPs of the
/// sandbox, which are a /16 of 127.64.0.0/11, and 198.19.0.0/16 to its load balancers, a /16 of 127.96.0.0/11. Other
/// addresses are not changed.
pub(crate) fn for_machines(host: &str) -> String {
    let Ok(address) = host.parse::<Ipv4Addr>() else {
        return host.to_owned();
    };
    let mapped = match address.octets() {
        [127, 64..96, high, low] => Ipv4Addr::new(198, 18, high, low),
        [127, 96..128, high, low] => Ipv4Addr::new(198, 19, high, low),
        _ => address,
    };
    mapped.to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_get_no_loopback_address_of_a_sandbox() {
        for (given, expected) in [
            ("127.64.0.1", "198.18.0.1"),
            ("127.95.12.255", "198.18.12.255"),
            ("127.96.0.3", "198.19.0.3"),
            ("127.0.0.1", "127.0.0.1"),
            ("10.96.0.1", "10.96.0.1"),
            ("api.example.org", "api.example.org"),
            ("fd00::1", "fd00::1"),
        ] {
            assert_eq!(for_machines(given), expected);
        }
    }
}
