//! The one door to API servers: what is there comes in as facts, what to do goes out as requests.

mod adopt;
mod bounds;
mod bundle;
mod cause;
mod chain;
mod claim;
mod connect;
mod download;
mod drain;
mod error;
mod evacuating;
mod events;
mod evidence;
mod examine;
mod fence;
mod gates;
mod going;
mod guest;
mod inside;
mod inward;
mod issue;
mod join;
mod kinds;
mod lease;
mod leftovers;
mod look;
mod mark;
mod observe;
mod perform;
mod preflight;
mod project;
mod reach;
mod relied;
mod request;
mod rights;
mod root;
mod said;
mod tail;
mod told;
mod troubles;
mod tunnel;
mod watch;
mod why;
mod wire;
mod world;

pub(crate) use chain::{Advice, Chain, Link};
pub(crate) use claim::Holder;
pub(crate) use connect::{Kubeconfigs, Overrides, Source};
pub(crate) use download::download;
pub(crate) use error::{Error, Verdict, What};
pub(crate) use events::EventSeen;
pub(crate) use evidence::{Evidence, Found, Redactor};
pub(crate) use examine::{Finding, Grade, Uses};
pub(crate) use fence::Fence;
pub(crate) use going::is_foreign;
pub(crate) use inside::kubeconfig;
pub(crate) use inward::{NodeSeen, ShootSeen};
pub(crate) use lease::Lease;
pub(crate) use leftovers::Leftovers;
pub(crate) use look::{ImageSeen, MachineSeen, RecordSeen, Where};
pub(crate) use observe::{Beside, Observer};
pub(crate) use perform::Performer;
pub(crate) use reach::Way;
pub(crate) use rights::{
    Right, manifest as rbac, rules_to_apply, rules_to_choose, rules_to_delete,
};
pub(crate) use root::ClientCertificate;
pub(crate) use said::Said;
pub(crate) use tunnel::Tunnel;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The provider cluster, and the namespace in it that shoots live in.
#[derive(Clone)]
pub(crate) struct Provider {
    client: kube::Client,
    server: Arc<str>,
    namespace: Arc<str>,
    warnings: Arc<[String]>,
    clock: Arc<Clock>,
    /// That all goes through, where no address answers.
    _tunnel: Option<Arc<Tunnel>>,
}

/// The server's time, as its answers tell it: ages are told by the clock that made the timestamps.
#[derive(Default)]
struct Clock(AtomicI64);

impl Provider {
    pub(crate) fn namespace(&self) -> &Arc<str> {
        &self.namespace
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

    fn new(
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
}

impl Clock {
    fn heard(&self, date: &str) {
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

#[cfg(test)]
mod fake_tests;
