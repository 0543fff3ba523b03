//! Services and their addresses.

use crate::cluster::objects::metadata::PartialObjectMeta;
use crate::state::facts::ObservedService;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialService {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: ServiceSpec,
    #[serde(default)]
    status: ServiceStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ServiceSpec {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(rename = "clusterIP")]
    cluster_ip: Option<String>,
    ports: Vec<ServicePort>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServicePort {
    /// A Service with one port may omit it.
    name: String,
    node_port: Option<u16>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServiceStatus {
    load_balancer: LoadBalancerStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct LoadBalancerStatus {
    ingress: Vec<LoadBalancerIngress>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct LoadBalancerIngress {
    ip: Option<String>,
    hostname: Option<String>,
}

impl PartialService {
    /// True if its load balancer has an address.
    pub(crate) fn is_published(&self) -> bool {
        !self.status.load_balancer.ingress.is_empty()
    }

    pub(crate) fn observed(&self) -> ObservedService {
        let ingress = self.status.load_balancer.ingress.first();
        let ingress = ingress.and_then(|it| it.ip.as_deref().or(it.hostname.as_deref()));
        let cluster_ip = self.spec.cluster_ip.as_deref();
        let ports = self.spec.ports.iter();
        ObservedService {
            cluster_ip: cluster_ip
                .filter(|it| !it.is_empty() && *it != "None")
                .map(Into::into),
            ingress: ingress.map(Into::into),
            node_ports: ports
                .filter_map(|it| Some((it.name.as_str().into(), it.node_port?)))
                .collect(),
        }
    }
}
