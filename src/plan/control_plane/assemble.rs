//! The items of a control plane, in order, and the addresses and certificates known so far.

use super::leaf::Reach;
use super::{
    Context, KONNECTIVITY_PORT, Known, api_server, certificate, cloud_controller,
    controller_manager, csi, etcd, scheduler, service,
};
use crate::plan::component::Component;
use crate::plan::item::{Key, Kind, Need, Plan, Side, State};
use crate::plan::names::{self, part};
use crate::plan::observed::{Fact, Facts, Inside, Observed, Service};
use crate::plan::{NO_UID, Site};
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Address, Exposure};
use std::sync::Arc;

/// Placeholder for an address that is not known yet. Objects that contain it are not applied.
const UNKNOWN: &str = "0.0.0.0";

/// Output of the control plane that the rest of a plan depends on.
pub(in crate::plan) struct ControlPlane {
    pub(in crate::plan) known: Known,
    /// Every address is known.
    pub(in crate::plan) services: Need,
    /// All replicas are up to date: no other component may be newer than the API server.
    pub(in crate::plan) api_server: Need,
    /// The shoot's API server is connected and observed.
    pub(in crate::plan) inside: Need,
    /// Certificates are signed, tokens work, and nodes get their pod CIDRs.
    pub(in crate::plan) controllers: Need,
}

pub(in crate::plan) fn add(
    plan: &mut Plan,
    shoot: &ValidShoot,
    observed: &Observed,
    record: Need,
) -> ControlPlane {
    let facts = &observed.facts;
    let known = known(shoot, facts);
    let context = Context {
        shoot,
        site: site(shoot, facts),
        known: &known,
        classes: &facts.classes,
    };
    let context = &context;
    let add = |plan: &mut Plan, component: Component, needs: &[Need]| {
        component.add(plan, observed, Side::Provider, &context.site, needs)
    };
    let before = facts.record.as_ref();
    let cluster_ip = before.and_then(|it| it.cluster_ip.as_deref());
    let services = add(plan, service::services(shoot, cluster_ip), &[record]);
    let reach = Reach {
        cluster_ip: &known.cluster_ip,
        external: known.external.as_ref(),
        node_address: Some(&known.node_address),
    };
    let needs = (record, services);
    let certificates = certificate::add(plan, observed, shoot, &context.site, Some(&reach), needs);
    let etcd = add(plan, etcd::component(context), &certificates);
    let needs = [certificates.as_slice(), &[etcd]].concat();
    let api_server = add(plan, api_server::component(context), &needs);
    let needs = [certificates.as_slice(), &[api_server]].concat();
    let controllers = add(plan, controller_manager::component(context), &needs);
    add(plan, scheduler::component(context), &needs);
    let inside = reached(plan, observed, api_server);
    add(plan, cloud_controller::component(context), &needs);
    add(plan, csi::component(context), &needs);
    ControlPlane {
        known,
        services,
        api_server,
        inside,
        controllers,
    }
}

pub(in crate::plan) fn site<'a>(shoot: &'a ValidShoot, facts: &'a Facts) -> Site<'a> {
    Site {
        id: &shoot.id,
        namespace: &facts.namespace,
        uid: facts.record.as_ref().map_or(NO_UID, |it| &it.uid),
    }
}

/// Adds the item for the connection to the shoot's API server.
fn reached(plan: &mut Plan, observed: &Observed, api_server: Need) -> Need {
    let state = match &observed.facts.inside {
        Inside::Observed => State::Done,
        Inside::Unreachable(why) => State::Waiting(why.to_string()),
        Inside::Absent if plan.is_done(api_server) => State::Waiting("no response yet".into()),
        Inside::Absent => State::Blocked,
    };
    let title = "Connect to the shoot's API server".into();
    let id = "reach".to_owned();
    plan.add(observed, id.into(), title, [api_server], state)
}

/// Collects addresses and checksums from the facts, with placeholders for those that are not known yet.
pub(in crate::plan) fn known(shoot: &ValidShoot, facts: &Facts) -> Known {
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

/// Returns the external address of the API server, and the port of the konnectivity server there.
fn external(shoot: &ValidShoot, service: &Service) -> (Option<Address>, u16) {
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

/// Returns whether machines can reach a ClusterIP. They cannot if a tenant network replaces the pod network.
fn has_pod_network(shoot: &ValidShoot) -> bool {
    use crate::validate::Network;
    let mut networks = shoot.networks.iter();
    !networks.any(|it| matches!(it, Network::Tenant { default: true, .. }))
}
