//! The addresses of the control plane. They come first: certificates name them, and kubeconfigs lead to them.

use super::context::{CLIENT_PORT, KONNECTIVITY_PORT, PEER_PORT};
use crate::render::component::Component;
use crate::state::names::{self, COMPONENT, PART_OF};
use crate::validate::ValidShoot;
use crate::validate::control_plane::{API_PORT, Exposure};
use serde_json::{Value, json};

const API_SERVER: &str = "kube-apiserver";
const ETCD: &str = "etcd";

/// `cluster_ip` is the one that nodes have written down: a Service that somebody deleted comes back to it.
pub(crate) fn services(shoot: &ValidShoot, cluster_ip: Option<&str>) -> Component {
    let mut inner = service(shoot, API_SERVER, API_SERVER, &api_ports(None));
    if let Some(address) = cluster_ip {
        inner["spec"]["clusterIP"] = json!(address);
    }
    let etcd_ports = [("client", CLIENT_PORT), ("peer", PEER_PORT)].map(port);
    let mut peers = service(shoot, "etcd-peers", ETCD, &etcd_ports);
    peers["spec"]["clusterIP"] = json!("None");
    // Members find each other before any of them is ready.
    peers["spec"]["publishNotReadyAddresses"] = json!(true);
    let client = service(shoot, "etcd-client", ETCD, &etcd_ports[..1]);
    Component {
        name: "services",
        title: "Apply the Services of the control plane".into(),
        objects: [inner, peers, client]
            .into_iter()
            .chain(external(shoot))
            .collect(),
    }
}

/// By which the API server is reached from outside.
fn external(shoot: &ValidShoot) -> Option<Value> {
    let of = |type_: &str, node_port: Option<u16>| {
        let name = "kube-apiserver-external";
        let mut it = service(shoot, name, API_SERVER, &api_ports(node_port));
        it["spec"]["type"] = json!(type_);
        it
    };
    match &shoot.control_plane.exposure {
        Exposure::LoadBalancer { annotations } => {
            let mut service = of("LoadBalancer", None);
            if !annotations.is_empty() {
                service["metadata"]["annotations"] = json!(annotations);
            }
            Some(service)
        }
        Exposure::NodePort { address, port } => {
            let mut service = of("NodePort", *port);
            service["metadata"]["annotations"] = json!({ names::ADDRESS: address });
            Some(service)
        }
        Exposure::None => None,
    }
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
