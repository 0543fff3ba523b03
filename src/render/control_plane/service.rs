//! The Services of the control plane. They are created first: certificates and kubeconfigs contain their addresses.

use super::context::{CLIENT_PORT, KONNECTIVITY_PORT, PEER_PORT};
use super::known::has_pod_network;
use crate::render::component::Component;
use crate::state::names::{self, COMPONENT, PART_OF};
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, ApiServerExposure};
use serde_json::{Value, json};

const API_SERVER: &str = "kube-apiserver";
const ETCD: &str = "etcd";

/// `cluster_ip` is the address that nodes already use: a Service that was deleted is created again with the same one.
pub(crate) fn services(shoot: &ValidShoot, cluster_ip: Option<&str>) -> Component {
    let mut inner = service(shoot, API_SERVER, API_SERVER, &api_ports(None));
    if let Some(address) = cluster_ip {
        inner["spec"]["clusterIP"] = json!(address);
    }
    let etcd_ports = [("client", CLIENT_PORT), ("peer", PEER_PORT)].map(port);
    let mut peers = service(shoot, "etcd-peers", ETCD, &etcd_ports);
    peers["spec"]["clusterIP"] = json!("None");
    // Members must find each other before any of them is ready.
    peers["spec"]["publishNotReadyAddresses"] = json!(true);
    let client = service(shoot, "etcd-client", ETCD, &etcd_ports[..1]);
    Component {
        name: "services",
        title: "Apply control plane Services".into(),
        objects: vec![inner, peers, client],
    }
}

/// Separate from the other Services: nothing inside the provider cluster needs an address that a load balancer may never
/// get. None if the API server is not exposed.
pub(crate) fn exposure(shoot: &ValidShoot) -> Option<Component> {
    Some(Component {
        name: "exposure",
        title: "Expose API server".into(),
        objects: vec![external(shoot)?],
    })
}

/// The Service that exposes the API server outside the provider cluster.
fn external(shoot: &ValidShoot) -> Option<Value> {
    let of = |type_: &str, node_port: Option<u16>| {
        let name = "kube-apiserver-external";
        let ports = api_ports(node_port);
        // Agents inside the provider cluster use the other Service.
        let count = if may_be_used_by_machines(shoot) { 2 } else { 1 };
        let mut it = service(shoot, name, API_SERVER, &ports[..count]);
        it["spec"]["type"] = json!(type_);
        it
    };
    match &shoot.control_plane.exposure {
        ApiServerExposure::LoadBalancer {
            annotations,
            source_ranges,
        } => {
            let mut service = of("LoadBalancer", None);
            if !source_ranges.is_empty() {
                service["spec"]["loadBalancerSourceRanges"] = json!(source_ranges);
            }
            if !annotations.is_empty() {
                service["metadata"]["annotations"] = json!(annotations);
            }
            Some(service)
        }
        ApiServerExposure::NodePort { address, port } => {
            let mut service = of("NodePort", *port);
            service["metadata"]["annotations"] = json!({ names::ADDRESS: address });
            Some(service)
        }
        ApiServerExposure::None => None,
    }
}

/// Returns true if machines may reach the API server by its external address. If the manifest gives an address, it is only
/// known later whether it is that one.
pub(super) fn may_be_used_by_machines(shoot: &ValidShoot) -> bool {
    shoot.control_plane.node_address.is_some() || !has_pod_network(shoot)
}

fn api_ports(node_port: Option<u16>) -> [Value; 2] {
    let mut ports = [("https", API_PORT), ("konnectivity", KONNECTIVITY_PORT)].map(port);
    if let Some(given) = node_port {
        ports[0]["nodePort"] = json!(given);
    }
    ports
}

fn port((name, port): (&str, u16)) -> Value {
    json!({ "name": name, "port": port, "protocol": "TCP", "targetPort": port })
}

fn service(shoot: &ValidShoot, name: &str, part: &str, ports: &[Value]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": names::control_plane(&shoot.id, name) },
        "spec": {
            "type": "ClusterIP",
            "selector": { PART_OF: shoot.id, COMPONENT: part },
            "ports": ports,
        },
    })
}
