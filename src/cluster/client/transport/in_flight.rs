//! Requests that wait for their responses, and longer work with other servers, to say what a slow command waits for.

use crate::cluster::client::error::RequestInfo;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Descriptions of all requests of this process, by number. Numbers grow with time.
static REQUESTS: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);
/// Numbers of requests begin here.
const REQUEST: u64 = 1 << 62;
/// Numbers of longer work begin here: a request that is part of it describes better what is slow.
const WORK: u64 = 1 << 63;

/// A request that waits for its response, or longer work, until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(u64);

impl InFlight {
    pub(super) fn new(what: &RequestInfo, server: &str) -> InFlight {
        InFlight::numbered(REQUEST, format!("{server} ({what})"))
    }

    /// A request to a server that is not an API server.
    pub(in crate::cluster::client) fn to(url: &str) -> InFlight {
        // The rest of a URL may be a password.
        let url = url.split(['?', '#']).next().unwrap_or_default();
        InFlight::numbered(REQUEST, url.to_owned())
    }

    /// Work of which no single request is worth mentioning. `what` completes "waiting for".
    pub(crate) fn many(what: String) -> InFlight {
        InFlight::numbered(0, what)
    }

    /// Work that consists of several requests. `what` completes "waiting for".
    pub(crate) fn work(what: String) -> InFlight {
        InFlight::numbered(WORK, what)
    }

    fn numbered(first: u64, what: String) -> InFlight {
        let number = first + NEXT.fetch_add(1, Ordering::Relaxed);
        requests().insert(number, what);
        InFlight(number)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        requests().remove(&self.0);
    }
}

/// Describes the oldest request that waits for its response: `https://192.0.2.1:6443 (list pods in namespace ci)`; or
/// the oldest work, if there is no request.
pub(crate) fn oldest_request() -> Option<String> {
    requests().values().next().cloned()
}

fn requests() -> MutexGuard<'static, BTreeMap<u64, String>> {
    REQUESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_flight_until_it_is_dropped() {
        let request = InFlight::new(&RequestInfo::get("version"), "https://192.0.2.7");
        let described = || {
            let requests = requests();
            let described = |it: &String| it == "https://192.0.2.7 (get version)";
            requests.values().any(described)
        };
        assert!(described());
        drop(request);
        assert!(!described());
    }

    #[test]
    fn work_comes_after_all_requests_and_a_url_has_no_parameters() {
        let work = InFlight::work("s3://bucket".to_owned());
        let many = InFlight::many("three checks".to_owned());
        let request = InFlight::to("https://192.0.2.8/a?signature=b");
        assert!(work.0 > request.0 && request.0 > many.0);
        let described = requests().get(&request.0).cloned();
        assert_eq!(described.as_deref(), Some("https://192.0.2.8/a"));
    }
}
