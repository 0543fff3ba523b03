//! Tunnel to a shoot's API server or to a member of its etcd, by port-forward through the provider's API server.

use super::error::{Error, RequestInfo};
use super::request::{ListSelector, ResourceRef};
use super::resources;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::reader::read_all;
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

/// Limit for a pod to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit for finding another pod after one is gone.
const RETRY_WINDOW: Duration = Duration::from_secs(30);

/// A local port that is forwarded to a pod. Dropping it closes the port and all connections.
#[derive(Debug)]
pub(crate) struct Tunnel {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Tunnel {
    /// Listens on a free port once a pod is reachable.
    ///
    /// # Errors
    ///
    /// No pod of the API server is ready, or port-forward is forbidden.
    pub(crate) async fn open(provider: &ApiClient, id: &str) -> Result<Tunnel, Error> {
        Tunnel::open_at(provider, id, 0).await
    }

    /// Listens on `port`; 0 for any free port.
    pub(crate) async fn open_at(
        provider: &ApiClient,
        id: &str,
        port: u16,
    ) -> Result<Tunnel, Error> {
        let connector = PodConnector {
            provider: provider.clone(),
            target: ForwardTarget::ApiServer { id: id.to_owned() },
        };
        Tunnel::listen(connector, port).await
    }

    /// Listens on a free port that is forwarded to a port of one pod.
    ///
    /// # Errors
    ///
    /// The pod does not accept a connection, or port-forward is forbidden.
    pub(crate) async fn to_pod(
        provider: &ApiClient,
        pod: &str,
        port: u16,
    ) -> Result<Tunnel, Error> {
        let connector = PodConnector {
            provider: provider.clone(),
            target: ForwardTarget::Pod {
                name: pod.to_owned(),
                port,
            },
        };
        Tunnel::listen(connector, 0).await
    }

    async fn listen(connector: PodConnector, port: u16) -> Result<Tunnel, Error> {
        // Fails now instead of at the first connection.
        drop(connector.connect().await?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let failed = |source: std::io::Error| Error::Unreachable {
            server: format!("local port {port}"),
            source: source.into(),
        };
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let task = tokio::spawn(serve(listener, connector));
        Ok(Tunnel { address, task })
    }

    /// Address of the local port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL of the server; the certificates of API servers and etcd are valid for this address too.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Each connection is forwarded separately. All of them end with this task.
async fn serve(listener: TcpListener, connector: PodConnector) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((local, _)) => {
                connections.spawn(forward(local, connector.clone()));
            }
            Err(error) => {
                // Most likely the limit of open files; it may pass.
                tracing::debug!(%error, "the tunnel cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn forward(mut local: TcpStream, connector: PodConnector) {
    let mut remote = match connector.connect_with_retry().await {
        Ok(remote) => remote,
        Err(error) => {
            tracing::warn!(%error, "the tunnel has no reachable pod");
            return;
        }
    };
    if let Err(error) = copy_bidirectional(&mut local, &mut remote).await {
        tracing::debug!(%error, "a connection through the tunnel ended");
    }
}

/// Pods that a tunnel leads to.
#[derive(Clone)]
enum ForwardTarget {
    /// Any ready pod of the API server of a shoot.
    ApiServer {
        /// The technical ID of the shoot.
        id: String,
    },
    Pod {
        name: String,
        port: u16,
    },
}

/// Connects to pods.
#[derive(Clone)]
struct PodConnector {
    provider: ApiClient,
    target: ForwardTarget,
}

impl PodConnector {
    /// Retries for a while: when a pod is gone, another one takes over.
    async fn connect_with_retry(&self) -> Result<DuplexStream, Error> {
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            match self.connect().await {
                Err(error) if begun.elapsed() < RETRY_WINDOW => {
                    tracing::debug!(%error, "no pod accepts the connection");
                    backoff.wait().await;
                }
                result => return result,
            }
        }
    }

    async fn connect(&self) -> Result<DuplexStream, Error> {
        let id = match &self.target {
            ForwardTarget::Pod { name, port } => return self.connect_to(name, *port).await,
            ForwardTarget::ApiServer { id } => id,
        };
        let mut last = None;
        for pod in self.provider.api_server_pods(id).await? {
            match self.connect_to(&pod, API_PORT).await {
                Ok(stream) => return Ok(stream),
                // No other pod would be allowed either.
                Err(error @ (Error::Forbidden { .. } | Error::Unauthenticated { .. })) => {
                    return Err(error);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| {
            Error::Missing(format!("no pod of the API server of {id} is ready"))
        }))
    }

    async fn connect_to(&self, pod: &str, port: u16) -> Result<DuplexStream, Error> {
        let resource_ref =
            ResourceRef::one(&resources::PORT_FORWARD, self.provider.namespace(), pod);
        let what = resource_ref.request_info("create");
        let failed = |it| Error::from_client(what.clone(), self.provider.server(), it);
        let pods: Api<Pod> =
            Api::namespaced(self.provider.client.clone(), self.provider.namespace());
        let _in_flight = self.provider.in_flight(&what);
        let forwarder = timeout(CONNECT_TIMEOUT, pods.portforward(pod, &[port])).await;
        let mut forwarder = forwarder
            .map_err(|_| Error::Timeout {
                what: what.clone(),
                after: CONNECT_TIMEOUT,
            })?
            .map_err(failed)?;
        let stream = forwarder.take_stream(port);
        stream.ok_or_else(|| missing_stream(what.clone()))
    }
}

impl ApiClient {
    /// Names of ready pods of a shoot's API server, sorted.
    pub(crate) async fn api_server_pods(&self, id: &str) -> Result<Vec<String>, Error> {
        let selector = format!(
            "{},{}={}",
            names::selector(id),
            names::COMPONENT,
            part::API_SERVER
        );
        let resource_ref = ResourceRef::all(&resources::POD, Some(self.namespace()));
        let select = ListSelector::labels(Some(&selector));
        let listed = self.list_selected(resource_ref, select).await?;
        let pods: Vec<PartialPod> = read_all(&resources::POD, &listed.items)?;
        let ready = pods.into_iter().filter(PartialPod::is_ready);
        let mut ready: Vec<String> = ready.map(|it| it.metadata.name).collect();
        ready.sort();
        Ok(ready)
    }
}

fn missing_stream(what: RequestInfo) -> Error {
    Error::InvalidResponse {
        what,
        message: "it has no stream".to_owned(),
    }
}
