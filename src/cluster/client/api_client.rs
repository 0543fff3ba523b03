//! A client of one API server.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The provider cluster, and the namespace in it that shoots live in.
#[derive(Clone)]
pub(crate) struct Provider {
    pub(in crate::cluster) client: kube::Client,
    pub(in crate::cluster) server: Arc<str>,
    namespace: Arc<str>,
    warnings: Arc<[String]>,
    pub(super) clock: Arc<Clock>,
    /// Tunnel that all requests go through, where no address answers; closed with the last clone.
    _tunnel: Option<Arc<dyn Any + Send + Sync>>,
}

/// The server's time, as its answers tell it: ages are told by the clock that made the timestamps.
#[derive(Default)]
pub(super) struct Clock(AtomicI64);

impl Provider {
    pub(crate) fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }

    /// The same cluster, another namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Provider {
        Provider {
            namespace: namespace.into(),
            ..self.clone()
        }
    }

    /// Address of the API server.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// What the person should know about this connection, as lower-case fragments.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Seconds since 1970 by the server's clock, when it last answered; None before.
    pub(crate) fn server_time(&self) -> Option<i64> {
        let seconds = self.clock.0.load(Ordering::Relaxed);
        (seconds > 0).then_some(seconds)
    }

    pub(in crate::cluster) fn new(
        client: kube::Client,
        server: String,
        namespace: &str,
        warnings: Vec<String>,
    ) -> Provider {
        Provider {
            client,
            server: server.into(),
            namespace: namespace.into(),
            warnings: warnings.into(),
            clock: Arc::default(),
            _tunnel: None,
        }
    }

    /// The same client, which keeps `tunnel` open.
    pub(super) fn through(self, tunnel: impl Any + Send + Sync) -> Provider {
        Provider {
            _tunnel: Some(Arc::new(tunnel)),
            ..self
        }
    }
}

impl Clock {
    pub(super) fn heard(&self, date: &str) {
        if let Ok(time) = jiff::fmt::rfc2822::parse(date) {
            self.0
                .store(time.timestamp().as_second(), Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provider({}, {})", self.server, self.namespace)
    }
}
