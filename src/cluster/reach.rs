//! By which address a shoot's API server is spoken to from here.

use super::Provider;
use super::error::Error;
use super::inside::answering;
use super::root::ClientCertificate;
use super::tunnel::Tunnel;
use futures::future::join_all;

/// A way that works.
#[derive(Debug)]
pub(crate) enum Way {
    /// Base URL.
    Direct(String),
    /// Ends with the value.
    Tunnel(Tunnel),
}

impl Way {
    /// Base URL of the API server.
    pub(crate) fn url(&self) -> String {
        match self {
            Way::Direct(url) => url.clone(),
            Way::Tunnel(tunnel) => tunnel.url(),
        }
    }
}

impl Provider {
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
        for (url, answer) in addresses.iter().zip(join_all(tries).await) {
            match answer {
                Ok(_) => return Ok(Way::Direct(url.clone())),
                Err(error) => tracing::debug!(%error, "{url} does not answer"),
            }
        }
        Ok(Way::Tunnel(Tunnel::open(self, id).await?))
    }
}
