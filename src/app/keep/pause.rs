//! The time between runs that fail, or that find nothing to do.

use crate::state::plan::{ItemKind, ItemState, Plan};
use std::time::Duration;
use tokio::time::Instant;

/// First pause after a run that failed; doubled up to the last one.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(30);
pub(super) const LAST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// Time until a shoot that another run works on is looked at again, and until a run for what is due since the last one
/// failed.
pub(super) const SHORT_PAUSE: Duration = Duration::from_secs(5);

/// A pause is for what was due before: what becomes due in it does not wait for its end.
#[derive(Debug)]
pub(super) struct Pause {
    /// No run starts before.
    earliest: Instant,
    /// No run for these items alone starts before.
    earliest_again: Instant,
    items: Vec<ItemKind>,
    length: Duration,
}

impl Pause {
    pub(super) fn new(now: Instant) -> Pause {
        Pause {
            earliest: now,
            earliest_again: now,
            items: Vec::new(),
            length: FIRST_PAUSE,
        }
    }

    /// The time before which no run for these items starts.
    pub(super) fn end(&self, due: &[ItemKind]) -> Instant {
        match self.contains(due) {
            true => self.earliest.max(self.earliest_again),
            false => self.earliest,
        }
    }

    fn contains(&self, due: &[ItemKind]) -> bool {
        due.iter().all(|it| self.items.contains(it))
    }

    /// Another run works on the shoot.
    pub(super) fn locked(&mut self, now: Instant) {
        self.earliest = now + SHORT_PAUSE;
    }

    /// A run has changed something.
    pub(super) fn succeeded(&mut self) {
        self.items.clear();
        self.length = FIRST_PAUSE;
    }

    /// A run for these items has failed, or has changed nothing.
    pub(super) fn failed(&mut self, due: Vec<ItemKind>, now: Instant) {
        if !self.contains(&due) {
            self.length = FIRST_PAUSE;
        }
        self.earliest = now + SHORT_PAUSE;
        self.earliest_again = now + self.length;
        self.length = (2 * self.length).min(LAST_PAUSE);
        self.items = due;
    }
}

/// Kinds of the items of a plan that are due.
pub(super) fn due_items(plan: &Plan) -> Vec<ItemKind> {
    let items = plan.items.iter();
    let due = items.filter(|it| matches!(it.state, ItemState::Due(_)));
    due.map(|it| it.kind.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(names: &[&str]) -> Vec<ItemKind> {
        let names = names.iter().map(|it| ItemKind::Manifest((*it).into()));
        names.collect()
    }

    /// Seconds until a run for these items.
    fn seconds(pause: &Pause, now: Instant, due: &[&str]) -> u64 {
        pause.end(&items(due)).duration_since(now).as_secs()
    }

    #[test]
    fn pauses_double_while_the_same_items_fail() {
        let now = Instant::now();
        let mut pause = Pause::new(now);
        assert_eq!(seconds(&pause, now, &["a"]), 0);
        for expected in [30, 60, 120, 240, 480, 600, 600] {
            pause.failed(items(&["a", "b"]), now);
            assert_eq!(seconds(&pause, now, &["b"]), expected);
        }
        pause.succeeded();
        pause.failed(items(&["a"]), now);
        assert_eq!(seconds(&pause, now, &["a"]), 30);
    }

    #[test]
    fn an_item_that_becomes_due_does_not_wait_for_the_pause_of_another_one() {
        let now = Instant::now();
        let mut pause = Pause::new(now);
        for _ in 0..5 {
            pause.failed(items(&["a"]), now);
        }
        assert_eq!(seconds(&pause, now, &["a"]), 480);
        assert_eq!(seconds(&pause, now, &["a", "b"]), 5);
        pause.failed(items(&["a", "b"]), now);
        assert_eq!(seconds(&pause, now, &["a"]), 30);
    }

    #[test]
    fn a_locked_shoot_is_looked_at_again_soon() {
        let now = Instant::now();
        let mut pause = Pause::new(now);
        pause.locked(now);
        assert_eq!(seconds(&pause, now, &["a"]), 5);
    }
}
