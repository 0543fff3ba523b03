//! Endpoints of a shoot's API server, as reachable from here.

use super::certificate_authority::ClientCertificate;
use super::error::{Error, RequestInfo};
use super::request::ResourceRef;
use super::resources;
use super::tunnel::Tunnel;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::objects::core::service::PartialService;
use crate::cluster::objects::reader::read;
use crate::state::names;
use crate::state::names::{API_PORT, Address};
use futures::future::join_all;
use std::time::Duration;
use tokio::time::timeout;

/// Limit for an address to respond before the next option is tried.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// The same for a tunnel, which is the last option and goes through the provider's API server and a kubelet.
const TUNNEL_TIMEOUT: Duration = Duration::from_secs(10);

/// Lifetime of kvshoot's own client certificate, in seconds: longer than any run.
const CLIENT_CERTIFICATE_LIFETIME: i64 = 24 * 60 * 60;

/// A reachable API server; its tunnel, if any, closes with it.
pub(crate) struct Endpoint {
    /// Base URL of the API server.
    pub(crate) url: String,
    /// Client that uses this endpoint.
    pub(crate) client: ApiClient,
}

impl ApiClient {
    /// Base URLs of a shoot's API server, the external one first.
    ///
    /// # Errors
    ///
    /// The control plane does not exist, or reading it is forbidden.
    pub(crate) async fn shoot_urls(&self, id: &str) -> Result<Vec<String>, Error> {
        let outer = names::control_plane(id, names::part::EXTERNAL);
        let inner = names::control_plane(id, names::part::API_SERVER);
        let mut addresses = Vec::new();
        for name in [&outer, &inner] {
            let resource_ref = ResourceRef::one(&resources::SERVICE, self.namespace(), name);
            match self.get_with_retry(resource_ref).await {
                Ok(service) => addresses.extend(base_url(&read(&resources::SERVICE, &service)?)),
                Err(Error::NotFound { .. }) if *name == outer => {}
                Err(error) => return Err(error),
            }
        }
        Ok(addresses)
    }

    /// A client of a shoot's API server with kvshoot's own credentials.
    ///
    /// # Errors
    ///
    /// The control plane does not exist, reading its certificate authority is forbidden, or nothing answers.
    pub(crate) async fn shoot_client(&self, id: &str) -> Result<ApiClient, Error> {
        let own = self.own_certificate(id).await?;
        Ok(self.shoot_endpoint(id, &own).await?.client)
    }

    /// A client of each replica of a shoot's API server.
    ///
    /// # Errors
    ///
    /// Those of [`ApiClient::shoot_client`].
    pub(crate) async fn shoot_replicas(&self, id: &str) -> Result<Vec<ApiClient>, Error> {
        let own = self.own_certificate(id).await?;
        let pods = self.api_server_pods(id).await?;
        if pods.len() < 2 {
            return Ok(vec![self.shoot_endpoint(id, &own).await?.client]);
        }
        let mut replicas = Vec::new();
        for pod in pods {
            let tunnel = Tunnel::to_pod(self, &pod, API_PORT).await?;
            replicas.push(Endpoint::via_tunnel(tunnel, &own).await?.client);
        }
        Ok(replicas)
    }

    /// This group is allowed everything before any role exists.
    async fn own_certificate(&self, id: &str) -> Result<ClientCertificate, Error> {
        let groups = &["system:masters"];
        self.client_certificate(id, "kvshoot", groups, CLIENT_CERTIFICATE_LIFETIME)
            .await
    }

    /// The first address that answers, otherwise a tunnel through the provider cluster.
    ///
    /// # Errors
    ///
    /// No address answers and the tunnel cannot be opened; the error is that of the tunnel.
    pub(crate) async fn shoot_endpoint(
        &self,
        id: &str,
        credentials: &ClientCertificate,
    ) -> Result<Endpoint, Error> {
        let addresses = self.shoot_urls(id).await?;
        let tries = addresses
            .iter()
            .map(|url| probe(url.clone(), credentials, PROBE_TIMEOUT));
        for answer in join_all(tries).await {
            match answer {
                Ok(way) => return Ok(way),
                Err(error) => {
                    tracing::debug!(%error, "an address of the shoot's API server does not answer")
                }
            }
        }
        Endpoint::via_tunnel(Tunnel::open(self, id).await?, credentials).await
    }
}

impl Endpoint {
    /// # Errors
    ///
    /// The API server does not answer through the tunnel.
    pub(crate) async fn via_tunnel(
        tunnel: Tunnel,
        credentials: &ClientCertificate,
    ) -> Result<Endpoint, Error> {
        let mut way = probe(tunnel.url(), credentials, TUNNEL_TIMEOUT).await?;
        way.client = way.client.via_tunnel(tunnel);
        Ok(way)
    }
}

/// Returns the endpoint if it answers in time.
async fn probe(
    url: String,
    credentials: &ClientCertificate,
    limit: Duration,
) -> Result<Endpoint, Error> {
    let server = ApiClient::from_credentials(&url, credentials).await?;
    match timeout(limit, server.get_once("/version", "version")).await {
        Ok(Ok(_)) => Ok(Endpoint {
            url,
            client: server,
        }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Timeout {
            what: RequestInfo::get("version"),
            after: limit,
        }),
    }
}

/// Base URL that a Service is reachable at.
fn base_url(service: &PartialService) -> Option<String> {
    let fact = service.observed();
    let address = || {
        service
            .metadata
            .annotation(names::ADDRESS)
            .unwrap_or_default()
    };
    let (host, port) = match (fact.ingress, fact.node_ports.get("https")) {
        (Some(ingress), _) => (ingress, API_PORT),
        (None, Some(port)) if service.spec.kind == "NodePort" => (address().into(), *port),
        _ => (fact.cluster_ip?, API_PORT),
    };
    let host = host.to_string();
    Some(Address { host, port }.url())
}
