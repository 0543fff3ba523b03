//! Backoff after transient errors, and limits on concurrent requests.

use crate::state::action::{Action, Content};
use crate::state::key::Key;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

const INITIAL_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// Backoff by object instead of by item, since several items may change the same object.
#[derive(Debug, Default)]
pub(super) struct Retries {
    /// Number of attempts, and when the next one is allowed.
    held: HashMap<Key, (u32, Duration)>,
}

impl Retries {
    /// Delays the object, exponentially longer each time and at least `retry_after`. Returns the delay.
    pub(super) fn delay(
        &mut self,
        key: &Key,
        now: Duration,
        retry_after: Option<Duration>,
    ) -> Duration {
        let (tries, until) = self.held.entry(key.clone()).or_default();
        let doubled = INITIAL_BACKOFF
            .saturating_mul(2u32.saturating_pow((*tries).min(16)))
            .min(MAX_BACKOFF);
        *tries += 1;
        // Jitter derived from the name, so that many objects are not retried at once.
        let jitter = key
            .name
            .bytes()
            .fold(0u32, |sum, it| sum.wrapping_mul(31).wrapping_add(it.into()))
            % 256;
        let wait = doubled
            .mul_f64(0.75 + f64::from(jitter) / 512.0)
            .max(retry_after.unwrap_or_default());
        *until = now + wait;
        wait
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.held.remove(key);
    }

    pub(super) fn is_allowed(&self, key: &Key, now: Duration) -> bool {
        self.held.get(key).is_none_or(|it| it.1 <= now)
    }

    /// Time of the next retry.
    pub(super) fn next(&self, now: Duration) -> Option<Duration> {
        self.held
            .values()
            .map(|(_, until)| *until)
            .filter(|until| *until > now)
            .min()
    }
}

/// Number of concurrent requests (slow start). Begins with one, so that an error common to all occurs once.
#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    max: usize,
}

impl Window {
    pub(super) fn new(max: usize) -> Window {
        Window {
            size: 1,
            max: max.max(1),
        }
    }

    pub(super) fn available(&self, running: usize) -> usize {
        self.size.saturating_sub(running)
    }

    /// Called for each successful response, so the window doubles per round trip.
    pub(super) fn grow(&mut self) {
        self.size = (self.size + 1).min(self.max);
    }

    /// Halves the window when the server is overloaded.
    pub(super) fn shrink(&mut self) {
        self.size = (self.size / 2).max(1);
    }
}

/// Creates the first machine of a pool alone, as a canary: an error in it would affect all of them.
#[derive(Debug, Default)]
pub(super) struct CanaryMachines {
    passed: HashSet<Arc<str>>,
    /// Pools whose first machine is being created or was refused in the current plan.
    held: HashSet<Arc<str>>,
    refused: Vec<Arc<str>>,
}

impl CanaryMachines {
    /// Returns true and marks the action as started if it may start now.
    pub(super) fn start(&mut self, action: &Action) -> bool {
        pool(action).is_none_or(|it| self.passed.contains(it) || self.held.insert(it.clone()))
    }

    pub(super) fn end(&mut self, action: &Action, is_done: bool) {
        match pool(action) {
            Some(pool) if is_done => {
                self.held.remove(pool);
                self.passed.insert(pool.clone());
            }
            Some(pool) => self.refused.push(pool.clone()),
            None => {}
        }
    }

    /// Releases refused pools: a new plan takes refusals into account, so its due actions may start.
    pub(super) fn new_plan(&mut self) {
        for pool in self.refused.drain(..) {
            self.held.remove(&pool);
        }
    }
}

fn pool(action: &Action) -> Option<&Arc<str>> {
    match action {
        Action::Apply(wanted) => match &wanted.content {
            Content::Machine { pool, .. } => Some(pool),
            _ => None,
        },
        Action::Delete(_) | Action::Drain(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::key::Kind;

    #[test]
    fn backoff_grows_up_to_a_limit() {
        let mut retries = Retries::default();
        let key = Key::provider(Kind::Machine, "m");
        let waits: Vec<Duration> = (0..12)
            .map(|_| retries.delay(&key, Duration::ZERO, None))
            .collect();
        assert!(
            waits.is_sorted()
                && waits[0] >= INITIAL_BACKOFF.mul_f64(0.75)
                && waits[11] <= MAX_BACKOFF.mul_f64(1.25),
            "{waits:?}"
        );
        assert!(!retries.is_allowed(&key, Duration::ZERO));
        retries.forget(&key);
        assert!(retries.is_allowed(&key, Duration::ZERO));
    }

    #[test]
    fn retry_after_is_a_lower_bound() {
        let key = Key::provider(Kind::Machine, "m");
        let wait = Retries::default().delay(&key, Duration::ZERO, Some(Duration::from_secs(7)));
        assert_eq!(wait, Duration::from_secs(7));
    }

    #[test]
    fn the_window_doubles_per_round_trip_and_halves_on_overload() {
        let mut window = Window::new(32);
        for expected in [1, 2, 4, 8, 16, 32, 32] {
            assert_eq!(window.available(0), expected);
            (0..expected).for_each(|_| window.grow());
        }
        window.shrink();
        assert_eq!(window.available(10), 6);
    }
}
