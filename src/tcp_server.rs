//! A TCP port whose clients cannot use more than a number of connections.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Pause after an error of `accept`, such as too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// A bound port.
#[derive(Debug)]
pub(crate) struct TcpServer {
    listener: TcpListener,
}

impl TcpServer {
    /// Listens on the first address that is possible.
    ///
    /// # Errors
    ///
    /// No address is possible.
    pub(crate) async fn bind(addresses: &[SocketAddr]) -> io::Result<TcpServer> {
        let listener = TcpListener::bind(addresses).await?;
        Ok(TcpServer { listener })
    }

    /// The address with its port.
    ///
    /// # Errors
    ///
    /// That of the operating system.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Handles connections until the future is dropped, at most `limit` at the same time. Others wait in the queue of the
    /// operating system.
    pub(crate) async fn serve<F>(self, limit: usize, handle: impl Fn(TcpStream) -> F) -> Infallible
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let limit = Arc::new(Semaphore::new(limit));
        loop {
            let permit = limit.clone().acquire_owned().await;
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let handled = handle(stream);
                    tokio::spawn(async move {
                        handled.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a connection");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}
