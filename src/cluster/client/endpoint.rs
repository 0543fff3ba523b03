//! By which address a shoot's API server is spoken to from here.

use super::certificate_authority::ClientCertificate;
use super::error::{Error, What};
use super::request::Place;
use super::resources;
use super::tunnel::Tunnel;
use crate::cluster::client::api_client::Provider;
use crate::cluster::json::text;
use crate::state::names;
use crate::state::names::{API_PORT, Address};
use futures::future::join_all;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// How long an address may take to answer before another way is gone.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long kvshoot's own certificate holds: longer than any run takes.
const OWN_LIFE: i64 = 24 * 60 * 60;

/// A way that works; a tunnel that it goes through is closed with it.
pub(crate) struct Way {
    /// Base URL of the API server.
    pub(crate) url: String,
    /// Who speaks to it by this way.
    pub(crate) server: Provider,
}

impl Provider {
    /// Base URLs of a shoot's API server, the outer one first.
    ///
    /// # Errors
    ///
    /// There is no such control plane, or it may not be looked at.
    pub(crate) async fn shoot_addresses(&self, id: &str) -> Result<Vec<String>, Error> {
        let outer = names::control_plane(id, names::part::EXTERNAL);
        let inner = names::control_plane(id, names::part::API_SERVER);
        let mut addresses = Vec::new();
        for name in [&outer, &inner] {
            let place = Place::one(&resources::SERVICE, self.namespace(), name);
            match self.get_again(place).await {
                Ok(service) => addresses.extend(base_url(&service)),
                Err(Error::NotFound { .. }) if *name == outer => {}
                Err(error) => return Err(error),
            }
        }
        Ok(addresses)
    }

    /// A client of a shoot's API server, for kvshoot itself.
    ///
    /// # Errors
    ///
    /// There is no such control plane, its root may not be read, or nothing answers.
    pub(crate) async fn inside(&self, id: &str) -> Result<Provider, Error> {
        // The group works before there are roles.
        let own = self.client_certificate(id, "kvshoot", &["system:masters"], OWN_LIFE);
        Ok(self.way(id, &own.await?).await?.server)
    }

    /// The first address that answers, else a tunnel through the provider.
    ///
    /// # Errors
    ///
    /// Nothing answers, and there is no tunnel either: says why there is none.
    pub(crate) async fn way(
        &self,
        id: &str,
        credentials: &ClientCertificate,
    ) -> Result<Way, Error> {
        let addresses = self.shoot_addresses(id).await?;
        let tries = addresses
            .iter()
            .map(|url| answering(url.clone(), credentials));
        for answer in join_all(tries).await {
            match answer {
                Ok(way) => return Ok(way),
                Err(error) => tracing::debug!(%error, "an address of the shoot does not answer"),
            }
        }
        Way::through(Tunnel::open(self, id).await?, credentials).await
    }
}

impl Way {
    /// # Errors
    ///
    /// Nothing answers at the other end.
    pub(crate) async fn through(
        tunnel: Tunnel,
        credentials: &ClientCertificate,
    ) -> Result<Way, Error> {
        let mut way = answering(tunnel.url(), credentials).await?;
        way.server = way.server.through(tunnel);
        Ok(way)
    }
}

/// The way by an address that answers in time.
async fn answering(url: String, credentials: &ClientCertificate) -> Result<Way, Error> {
    let server = Provider::from_credentials(&url, credentials).await?;
    match timeout(PATIENCE, server.get_once("/version", "version")).await {
        Ok(Ok(_)) => Ok(Way { url, server }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Timeout {
            what: What::get("version"),
            after: PATIENCE,
        }),
    }
}

/// Where a Service can be spoken to.
fn base_url(service: &Value) -> Option<String> {
    let fact = super::service::service(service);
    let annotations = &service["metadata"]["annotations"];
    let (host, port) = match (fact.ingress, fact.node_ports.get("https")) {
        (Some(ingress), _) => (ingress, API_PORT),
        (None, Some(port)) if service["spec"]["type"] == "NodePort" => {
            (text(&annotations[names::ADDRESS]).into(), *port)
        }
        _ => (fact.cluster_ip?, API_PORT),
    };
    let host = host.to_string();
    Some(Address { host, port }.url())
}
