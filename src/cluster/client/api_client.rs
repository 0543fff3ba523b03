//! A client of one API server.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Client of one API server, of a provider cluster or of a shoot, with a default namespace.
#[derive(Clone)]
pub(crate) struct ApiClient {
    pub(in crate::cluster) client: kube::Client,
    pub(in crate::cluster) server: Arc<str>,
    namespace: Arc<str>,
    warnings: Arc<[String]>,
    pub(super) clock: Arc<ServerClock>,
    /// Tunnel that carries the requests, if any; closed with the last clone.
    _tunnel: Option<Arc<dyn Any + Send + Sync>>,
}

/// Server time, from the `Date` header of its responses. Ages are computed with the clock that wrote the timestamps.
#[derive(Default)]
pub(super) struct ServerClock(AtomicI64);

impl ApiClient {
    pub(crate) fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }

    /// The same cluster with another default namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> ApiClient {
        ApiClient {
            namespace: namespace.into(),
            ..self.clone()
        }
    }

    /// Address of the API server.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Warnings about this connection for the user, as lower-case fragments.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Seconds since 1970 by the server's clock at its last response; None before the first.
    pub(crate) fn server_time(&self) -> Option<i64> {
        let seconds = self.clock.0.load(Ordering::Relaxed);
        (seconds > 0).then_some(seconds)
    }

    pub(in crate::cluster) fn new(
        client: kube::Client,
        server: String,
        namespace: &str,
        warnings: Vec<String>,
    ) -> ApiClient {
        ApiClient {
            client,
            server: server.into(),
            namespace: namespace.into(),
            warnings: warnings.into(),
            clock: Arc::default(),
            _tunnel: None,
        }
    }

    /// The same client, keeping `tunnel` open.
    pub(super) fn via_tunnel(self, tunnel: impl Any + Send + Sync) -> ApiClient {
        ApiClient {
            _tunnel: Some(Arc::new(tunnel)),
            ..self
        }
    }
}

impl ServerClock {
    pub(super) fn record_date(&self, date: &str) {
        if let Ok(time) = jiff::fmt::rfc2822::parse(date) {
            self.0
                .store(time.timestamp().as_second(), Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provider({}, {})", self.server, self.namespace)
    }
}
