//! `kvshoot keep`: in a terminal, and as the Deployment that it prints.

mod autoscaler;
mod backups;
mod deployment;
mod keys;
mod killed;
mod night;
mod repair;
mod updates;
mod watched;

use crate::support::provider::{Provider, VMI};
use std::time::{Duration, Instant};

/// UID of a machine's instance, which is another one after a restart.
fn uid(provider: &Provider, machine: &str) -> Option<String> {
    provider.get(VMI, machine)?.metadata.uid
}

fn wait_at_most(limit: Duration, what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(500));
    }
}
