//! What met a passing error, and when it may be tried again; and how much may be on its way at once.

use crate::state::action::{Action, Payload};
use crate::state::key::ObjectKey;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);

/// By object, and not by item: another item may want the same of it.
#[derive(Debug, Default)]
pub(super) struct Retries {
    held: HashMap<ObjectKey, (u32, Duration)>,
}

impl Retries {
    /// Holds the object back, longer each time; `asked` is what the server asked for. Says how long.
    pub(super) fn again(
        &mut self,
        key: &ObjectKey,
        now: Duration,
        asked: Option<Duration>,
    ) -> Duration {
        let (tries, until) = self.held.entry(key.clone()).or_default();
        let doubled = FIRST
            .saturating_mul(2u32.saturating_pow((*tries).min(16)))
            .min(LONGEST);
        *tries += 1;
        // Spread by name, so that a thousand of them do not come back at once.
        let share = key
            .name
            .bytes()
            .fold(0u32, |sum, it| sum.wrapping_mul(31).wrapping_add(it.into()))
            % 256;
        let wait = doubled
            .mul_f64(0.75 + f64::from(share) / 512.0)
            .max(asked.unwrap_or_default());
        *until = now + wait;
        wait
    }

    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.held.remove(key);
    }

    pub(super) fn allow(&self, key: &ObjectKey, now: Duration) -> bool {
        self.held.get(key).is_none_or(|it| it.1 <= now)
    }

    /// When the next one may be tried.
    pub(super) fn next(&self, now: Duration) -> Option<Duration> {
        self.held
            .values()
            .map(|it| it.1)
            .filter(|it| *it > now)
            .min()
    }
}

/// How many requests may be on their way: one at first, so that what is refused is refused once.
#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    most: usize,
}

impl Window {
    pub(super) fn new(most: usize) -> Window {
        Window {
            size: 1,
            most: most.max(1),
        }
    }

    pub(super) fn room(&self, running: usize) -> usize {
        self.size.saturating_sub(running)
    }

    /// Each answer lets one more go, so the window doubles with every round.
    pub(super) fn grow(&mut self) {
        self.size = (self.size + 1).min(self.most);
    }

    /// The server has enough.
    pub(super) fn shrink(&mut self) {
        self.size = (self.size / 2).max(1);
    }
}

/// The first machine of a pool goes alone: what is wrong with it is wrong with all of them.
#[derive(Debug, Default)]
pub(super) struct Trials {
    passed: HashSet<Arc<str>>,
    /// Pools whose first machine is on its way, or was refused in this plan.
    held: HashSet<Arc<str>>,
    refused: Vec<Arc<str>>,
}

impl Trials {
    /// Whether it may start now; if so it counts as started.
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

    /// A new plan knows what was refused, so what is due in it may be tried.
    pub(super) fn plan(&mut self) {
        for pool in self.refused.drain(..) {
            self.held.remove(&pool);
        }
    }
}

fn pool(action: &Action) -> Option<&Arc<str>> {
    match action {
        Action::Apply(wanted) => match &wanted.payload {
            Payload::Machine { pool, .. } => Some(pool),
            _ => None,
        },
        Action::Delete(_) | Action::Drain(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::key::ObjectKind;

    #[test]
    fn a_retry_waits_longer_each_time_and_not_for_ever() {
        let mut retries = Retries::default();
        let key = ObjectKey::provider(ObjectKind::Machine, "m");
        let waits: Vec<Duration> = (0..12)
            .map(|_| retries.again(&key, Duration::ZERO, None))
            .collect();
        assert!(
            waits.is_sorted()
                && waits[0] >= FIRST.mul_f64(0.75)
                && waits[11] <= LONGEST.mul_f64(1.25),
            "{waits:?}"
        );
        assert!(!retries.allow(&key, Duration::ZERO));
        retries.forget(&key);
        assert!(retries.allow(&key, Duration::ZERO));
    }

    #[test]
    fn what_the_server_asks_for_is_the_least() {
        let key = ObjectKey::provider(ObjectKind::Machine, "m");
        let wait = Retries::default().again(&key, Duration::ZERO, Some(Duration::from_secs(7)));
        assert_eq!(wait, Duration::from_secs(7));
    }

    #[test]
    fn the_window_doubles_with_every_round_and_is_halved_on_demand() {
        let mut window = Window::new(32);
        for expected in [1, 2, 4, 8, 16, 32, 32] {
            assert_eq!(window.room(0), expected);
            (0..expected).for_each(|_| window.grow());
        }
        window.shrink();
        assert_eq!(window.room(10), 6);
    }
}
