//! The way to a shoot's API server through that of the provider: pods' port-forward.

use super::error::{Error, What};
use super::request::{Place, Select};
use super::resources;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::json::{serves, text};
use crate::state::names::API_PORT;
use crate::state::names::{self, part};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{DuplexStream, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// How long a pod may take to take a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a pod is looked for when one has gone: another one comes up meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);

/// A port of this computer that leads to a shoot's API server. Closed, with all that goes through it, when dropped.
#[derive(Debug)]
pub(crate) struct Tunnel {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Tunnel {
    /// Listens, once there is a pod that can be reached.
    ///
    /// # Errors
    ///
    /// No pod of the API server is ready, or its port may not be forwarded.
    pub(crate) async fn open(provider: &Provider, id: &str) -> Result<Tunnel, Error> {
        Tunnel::open_at(provider, id, 0).await
    }

    /// The same at a given port; 0 for any that is free.
    pub(crate) async fn open_at(provider: &Provider, id: &str, port: u16) -> Result<Tunnel, Error> {
        let ends = Ends {
            provider: provider.clone(),
            id: id.to_owned(),
        };
        // What will not work is told now, not by the first connection.
        drop(ends.connect().await?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let failed = |source: std::io::Error| Error::Unreachable {
            server: format!("port {port} of this computer"),
            source: source.into(),
        };
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let task = tokio::spawn(serve(listener, ends));
        Ok(Tunnel { address, task })
    }

    /// Base URL of the API server; its certificate holds for this address too.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Every connection is one of its own at the other end too. Connections end with this.
async fn serve(listener: TcpListener, ends: Ends) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((near, _)) => {
                connections.spawn(forward(near, ends.clone()));
            }
            Err(error) => {
                // No more files, most likely: it may pass.
                tracing::debug!(%error, "the tunnel takes no connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn forward(mut near: TcpStream, ends: Ends) {
    let mut far = match ends.connect_again().await {
        Ok(far) => far,
        Err(error) => {
            tracing::warn!(%error, "the tunnel leads nowhere");
            return;
        }
    };
    if let Err(error) = copy_bidirectional(&mut near, &mut far).await {
        tracing::debug!(%error, "a connection through the tunnel ended");
    }
}

/// Where connections go: pods of the API server.
#[derive(Clone)]
struct Ends {
    provider: Provider,
    id: String,
}

impl Ends {
    /// Tries pods that are new to it for a while: when one has gone, another one takes over.
    async fn connect_again(&self) -> Result<DuplexStream, Error> {
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            match self.connect().await {
                Err(error) if begun.elapsed() < PATIENCE => {
                    tracing::debug!(%error, "no pod takes the connection");
                    backoff.wait().await;
                }
                result => return result,
            }
        }
    }

    async fn connect(&self) -> Result<DuplexStream, Error> {
        let mut last = None;
        for pod in self.pods().await? {
            match self.connect_to(&pod).await {
                Ok(stream) => return Ok(stream),
                // No other pod would be allowed.
                Err(error @ (Error::NotAllowed { .. } | Error::NotLoggedIn { .. })) => {
                    return Err(error);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| {
            let id = &self.id;
            Error::Missing(format!("no pod of the API server of {id} is ready"))
        }))
    }

    async fn connect_to(&self, pod: &str) -> Result<DuplexStream, Error> {
        let place = Place::one(&resources::PORT_FORWARD, self.provider.namespace(), pod);
        let what = place.what("create");
        let failed = |it| Error::of_client(what.clone(), self.provider.server(), it);
        let pods: Api<Pod> =
            Api::namespaced(self.provider.client.clone(), self.provider.namespace());
        let forwarder = timeout(CONNECT, pods.portforward(pod, &[API_PORT])).await;
        let mut forwarder = forwarder
            .map_err(|_| Error::Timeout {
                what: what.clone(),
                after: CONNECT,
            })?
            .map_err(failed)?;
        let stream = forwarder.take_stream(API_PORT);
        stream.ok_or_else(|| senseless(what.clone()))
    }

    /// Those that serve, by name.
    async fn pods(&self) -> Result<Vec<String>, Error> {
        let selector = format!(
            "{},{}={}",
            names::selector(&self.id),
            names::COMPONENT,
            part::API_SERVER
        );
        let place = Place::all(&resources::POD, Some(self.provider.namespace()));
        let listed = self
            .provider
            .list_where(place, Select::labels(Some(&selector)))
            .await?;
        let mut ready: Vec<String> = listed
            .items
            .iter()
            .filter(|it| serves(it))
            .map(|it| text(&it["metadata"]["name"]).to_owned())
            .collect();
        ready.sort();
        Ok(ready)
    }
}

fn senseless(what: What) -> Error {
    Error::Senseless {
        what,
        message: "it has no stream".to_owned(),
    }
}
