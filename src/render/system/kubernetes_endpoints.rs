//! Where the Service `default/kubernetes` leads.
//!
//! The API servers do not write it themselves (`--endpoint-reconciler-type=none`): each would take it away as it
//! stops, and with it the way of every client inside.

use super::context::Context;
use crate::render::component::Component;
use serde_json::json;
use std::net::IpAddr;

/// None where the address is a name, or one of the own host: Kubernetes takes neither for an endpoint. Pods find no
/// API server then, but by the address itself.
pub(crate) fn component(context: &Context) -> Option<Component> {
    let address = &context.known.node_address;
    let ip: IpAddr = address.host.parse().ok()?;
    if ip.is_loopback() || ip.is_unspecified() {
        return None;
    }
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {
                "kubernetes.io/service-name": "kubernetes",
                "endpointslice.kubernetes.io/managed-by": "kvshoot",
            },
        },
        "addressType": if ip.is_ipv6() { "IPv6" } else { "IPv4" },
        "endpoints": [{ "addresses": [ip.to_string()], "conditions": { "ready": true } }],
        "ports": [{ "name": "https", "port": address.port, "protocol": "TCP" }],
    });
    Some(Component {
        name: "kubernetes-endpoints",
        title: "Lead the Service kubernetes to the API server".into(),
        objects: vec![slice],
    })
}
