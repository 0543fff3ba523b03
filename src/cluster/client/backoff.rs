//! Waits between attempts.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;
use tokio::time::sleep;

/// Waits that double from 0.25 s to 5 s, each of them between a half and the whole of that.
#[derive(Debug, Default)]
pub(crate) struct Backoff(u32);

impl Backoff {
    pub(crate) async fn wait(&mut self) {
        let whole = Duration::from_millis(250) * (1 << self.0.min(5));
        self.0 += 1;
        // As many processes as a CI starts at once must not come back at once.
        let chance = RandomState::new().build_hasher().finish() % 1000;
        let part = u32::try_from(chance).unwrap_or_default();
        sleep(whole.min(Duration::from_secs(5)) * (1000 + part) / 2000).await;
    }

    pub(crate) fn reset(&mut self) {
        self.0 = 0;
    }
}
