//! Fence: whether the lease is still held, and for how long that is certain.

use crate::cluster::client::error::Error;
use crate::cluster::objects::lease::PartialLease;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Time after which a lease expires without renewal.
pub(crate) const LEASE_DURATION: Duration = Duration::from_secs(15);

/// Checked before each write. Clones share the state.
#[derive(Debug, Clone)]
pub(crate) struct Fence(Arc<Mutex<HeldLease>>);

#[derive(Debug, Default)]
pub(crate) struct HeldLease {
    pub(crate) lease: String,
    pub(crate) identity: String,
    pub(crate) uid: String,
    pub(crate) version: String,
    /// True if it is deleted with its owner.
    pub(crate) has_owner: bool,
    /// When the last successful renewal was sent; None without a lease.
    pub(crate) renewed: Option<Instant>,
    pub(crate) lost: Option<String>,
}

impl Fence {
    /// A fence that is always open.
    #[cfg(test)]
    pub(crate) fn open() -> Fence {
        Fence::new(HeldLease::default())
    }

    pub(crate) fn new(held: HeldLease) -> Fence {
        Fence(Arc::new(Mutex::new(held)))
    }

    /// Time for which no other run can hold the lease; a write must end before.
    ///
    /// # Errors
    ///
    /// [`Error::LeaseLost`] once another run has it. [`Error::LeaseStale`] while it is expired and not renewed, which
    /// ends once the server answers again unless another run took the lease.
    pub(crate) fn remaining(&self) -> Result<Duration, Error> {
        let held = self.held();
        if let Some(message) = &held.lost {
            return Err(Error::LeaseLost {
                lease: held.lease.clone(),
                message: message.clone(),
            });
        }
        let Some(renewed) = held.renewed else {
            return Ok(Duration::MAX);
        };
        LEASE_DURATION
            .checked_sub(renewed.elapsed())
            .filter(|it| !it.is_zero())
            .ok_or_else(|| Error::LeaseStale {
                lease: held.lease.clone(),
            })
    }

    /// Time since the last successful renewal was sent.
    pub(crate) fn age(&self) -> Duration {
        self.held()
            .renewed
            .map_or(Duration::ZERO, |it| it.elapsed())
    }

    /// Returns once another run has the lease; never without a lease.
    pub(crate) async fn lost(&self) -> Error {
        loop {
            match self.remaining() {
                Err(error @ Error::LeaseLost { .. }) => return error,
                _ => sleep(Duration::from_millis(250)).await,
            }
        }
    }

    pub(crate) fn revoke(&self, message: &str) {
        self.held().lost.get_or_insert_with(|| message.to_owned());
    }

    pub(crate) fn renewed(&self, asked: Instant, lease: &PartialLease) {
        self.held().renewed = Some(asked);
        self.update(lease);
    }

    /// Stores the latest version, which the next renewal requires, and whether it has an owner.
    pub(crate) fn update(&self, lease: &PartialLease) {
        let (metadata, mut held) = (&lease.metadata, self.held());
        metadata.resource_version.clone_into(&mut held.version);
        held.has_owner = metadata.owner_uid().is_some();
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, HeldLease> {
        self.0.lock().unwrap_or_else(|it| it.into_inner())
    }
}
