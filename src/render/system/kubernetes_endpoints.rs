//! The endpoints of the Service `default/kubernetes`.
//!
//! The API servers do not write them (`--endpoint-reconciler-type=none`): each would remove its endpoint when it
//! stops, and with it the only address that clients inside the cluster have.

use super::context::SystemContext;
use crate::render::component::Component;
use serde_json::json;
use std::net::IpAddr;

/// Returns None if the address is a name, or a loopback or unspecified address: Kubernetes accepts none of these as an
/// endpoint. Pods then have to use the address itself.
pub(crate) fn component(context: &SystemContext) -> Option<Component> {
    let address = &context.known.node_address;
    let ip: IpAddr = address.host.parse().ok()?;
    if ip.is_loopback() || ip.is_unspecified() {
        return None;
    }
    let port = json!({ "name": "https", "port": address.port, "protocol": "TCP" });
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
        "ports": [port],
    });
    // Older clients read only this kind, and so does a conformance test.
    let endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            // Otherwise the controller manager would mirror it into a second slice.
            "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" },
        },
        "subsets": [{ "addresses": [{ "ip": ip.to_string() }], "ports": [port] }],
    });
    Some(Component {
        name: "kubernetes-endpoints",
        title: "Apply endpoints of Service kubernetes".into(),
        objects: vec![slice, endpoints],
    })
}
