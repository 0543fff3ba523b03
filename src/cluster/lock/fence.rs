//! Whether the lease is still held, and for how long that is sure.

use crate::cluster::client::error::Error;
use crate::cluster::json::text;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a lease holds that is not renewed.
pub(crate) const DURATION: Duration = Duration::from_secs(15);

/// Asked before each write. Clones are the same fence.
#[derive(Debug, Clone)]
pub(crate) struct Fence(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) lease: String,
    pub(crate) identity: String,
    pub(crate) uid: String,
    pub(crate) version: String,
    /// When the last renewal that was granted was asked for; None where there is no lease.
    pub(crate) renewed: Option<Instant>,
    pub(crate) lost: Option<String>,
}

impl Fence {
    /// Holds nothing back: for what one writer alone does anyway.
    #[cfg(test)]
    pub(crate) fn open() -> Fence {
        Fence::new(Held::default())
    }

    pub(crate) fn new(held: Held) -> Fence {
        Fence(Arc::new(Mutex::new(held)))
    }

    /// How long nobody else can hold it; a write must be over by then.
    ///
    /// # Errors
    ///
    /// [`Error::Fenced`] once another has it. [`Error::Stale`] while it is not renewed for as long as it lasts, which
    /// passes when the server answers again and nobody took it meanwhile.
    pub(crate) fn left(&self) -> Result<Duration, Error> {
        let held = self.held();
        if let Some(message) = &held.lost {
            return Err(Error::Fenced {
                lease: held.lease.clone(),
                message: message.clone(),
            });
        }
        let Some(renewed) = held.renewed else {
            return Ok(Duration::MAX);
        };
        DURATION
            .checked_sub(renewed.elapsed())
            .filter(|it| !it.is_zero())
            .ok_or_else(|| Error::Stale {
                lease: held.lease.clone(),
            })
    }

    /// How long ago the last renewal was asked for that was granted.
    pub(crate) fn age(&self) -> Duration {
        self.held()
            .renewed
            .map_or(Duration::ZERO, |it| it.elapsed())
    }

    /// Returns when another has it, and never where there is no lease.
    pub(crate) async fn lost(&self) -> Error {
        loop {
            match self.left() {
                Err(error @ Error::Fenced { .. }) => return error,
                _ => sleep(Duration::from_millis(250)).await,
            }
        }
    }

    pub(crate) fn lose(&self, message: &str) {
        self.held().lost.get_or_insert_with(|| message.to_owned());
    }

    pub(crate) fn renewed(&self, asked: Instant, answer: &Value) {
        self.held().renewed = Some(asked);
        self.know(answer);
    }

    /// The newest version, which the next renewal is tied to.
    pub(crate) fn know(&self, answer: &Value) {
        let version = text(&answer["metadata"]["resourceVersion"]);
        version.clone_into(&mut self.held().version);
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(|it| it.into_inner())
    }
}
