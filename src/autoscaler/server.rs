//! A server for the cluster autoscalers of several shoots on one port. The name that a client verifies selects the shoot.

use super::service::{CloudProvider, answer};
use crate::pki;
use crate::tcp_server::TcpServer;
use futures::FutureExt as _;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::server::{Acceptor, ServerConfig};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

/// Connections at the same time: an autoscaler has one.
const MAX_CONNECTIONS: usize = 256;
/// Calls of a connection at the same time.
const MAX_CALLS: u32 = 16;
/// Bytes of a call's headers.
const MAX_HEADERS: u32 = 16 << 10;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without a request until the client is asked if it is still there, and until it has to respond.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// A shoot whose autoscaler may connect.
#[derive(Clone)]
pub(crate) struct ServedShoot {
    /// Requires a certificate of the client.
    pub(crate) tls: Arc<ServerConfig>,
    /// Common name in the certificate of the client.
    pub(crate) client: String,
    pub(crate) shoot: Arc<dyn CloudProvider>,
    /// Closes its connections.
    pub(crate) ended: CancellationToken,
}

/// Finds a shoot by the name of its server.
type Find = Arc<dyn Fn(&str) -> Option<ServedShoot> + Send + Sync>;

/// Serves autoscalers until the future is dropped.
pub(crate) async fn serve(server: TcpServer, find: Find) -> Infallible {
    let handle = |stream| {
        let find = find.clone();
        async move {
            match handshake(stream, &find).await {
                Ok((stream, served)) => {
                    let calls = serve_calls(stream, served.shoot);
                    served.ended.run_until_cancelled(calls).await;
                }
                Err(error) => tracing::debug!(%error, "refused a connection"),
            }
        }
    };
    server.serve(MAX_CONNECTIONS, handle).await
}

/// Completes TLS with a client that may connect.
async fn handshake(
    stream: TcpStream,
    find: &Find,
) -> io::Result<(TlsStream<TcpStream>, ServedShoot)> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned());
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
    let hello = timeout(HANDSHAKE_TIMEOUT, hello).await??;
    let name = hello.client_hello().server_name().map(str::to_owned);
    let found = name.and_then(|it| find(&it));
    let served = found.ok_or_else(|| refused("the name of the server is of no shoot"))?;
    let stream = timeout(HANDSHAKE_TIMEOUT, hello.into_stream(served.tls.clone())).await??;
    let certificates = stream.get_ref().1.peer_certificates();
    let certificate = certificates.and_then(|it| it.first());
    let client = certificate.and_then(|it| pki::common_name(it));
    match client.as_deref() == Some(&*served.client) {
        true => Ok((stream, served)),
        false => Err(refused("the certificate of the client has another name")),
    }
}

async fn serve_calls(stream: TlsStream<TcpStream>, shoot: Arc<dyn CloudProvider>) {
    let service = service_fn(move |request| {
        let shoot = shoot.clone();
        answer(shoot, request).map(Ok::<_, Infallible>)
    });
    let served = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_CALLS)
        .max_header_list_size(MAX_HEADERS)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection of a cluster autoscaler failed");
    }
}
