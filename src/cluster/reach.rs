//! By which address a shoot's API server is spoken to from here.

use super::error::{Error, What};
use super::project::text;
use super::request::Place;
use super::root::ClientCertificate;
use super::tunnel::Tunnel;
use super::{Provider, kinds};
use crate::state::facts::Fact;
use crate::state::key::Kind;
use crate::state::names::{self, API_PORT, Address};
use futures::future::join_all;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long an address may take to answer before another way is gone.
const PATIENCE: Duration = Duration::from_secs(3);

/// A way that works; a tunnel that it goes through is closed with it.
pub(crate) struct Way {
    /// Base URL of the API server.
    pub(crate) url: String,
    /// Who speaks to it by this way.
    pub(super) server: Provider,
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
            let place = Place::one(&kinds::SERVICE, self.namespace(), name);
            match self.get_again(place).await {
                Ok(service) => addresses.extend(base_url(&service)),
                Err(Error::NotFound { .. }) if *name == outer => {}
                Err(error) => return Err(error),
            }
        }
        Ok(addresses)
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
        way.server._tunnel = Some(Arc::new(tunnel));
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
    let Some(Fact::Service(fact)) = super::told::fact(Kind::Service, service) else {
        return None;
    };
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
