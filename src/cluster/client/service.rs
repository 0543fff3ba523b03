//! Addresses of a Service.

use crate::cluster::json::{items, text};
use crate::state::facts::Service;
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn service(object: &Value) -> Service {
    let ingress = &object["status"]["loadBalancer"]["ingress"][0];
    let ingress = ingress["ip"].as_str().or(ingress["hostname"].as_str());
    let ports = items(&object["spec"]["ports"]).iter().filter_map(|it| {
        let port = it["nodePort"].as_u64()?;
        Some((text(&it["name"]).into(), u16::try_from(port).ok()?))
    });
    Service {
        cluster_ip: object["spec"]["clusterIP"]
            .as_str()
            .filter(|it| !it.is_empty() && *it != "None")
            .map(Arc::from),
        ingress: ingress.map(Arc::from),
        node_ports: ports.collect(),
    }
}
