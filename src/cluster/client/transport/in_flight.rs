//! Requests that wait for their responses, to say what a slow command waits for.

use crate::cluster::client::error::RequestInfo;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Descriptions of all requests of this process, by number. Numbers grow with time.
static REQUESTS: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A request that waits for its response, until this is dropped.
#[derive(Debug)]
pub(super) struct InFlight(u64);

impl InFlight {
    pub(super) fn new(what: &RequestInfo, server: &str) -> InFlight {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        requests().insert(number, format!("{server} ({what})"));
        InFlight(number)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        requests().remove(&self.0);
    }
}

/// Describes the oldest request that waits for its response: `https://192.0.2.1:6443 (list pods in namespace ci)`.
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
}
