//! All that a plan is made from besides the manifest: facts, and what this run knows.

use crate::state::action::Action;
use crate::state::facts::{Facts, Machine};
use crate::state::failure::{Class, Failure};
use crate::state::hash::Hash;
use crate::state::key::Key;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// All that a plan is made from beside the manifest.
#[derive(Debug, Default, Clone)]
pub(crate) struct Observed {
    /// Since the run began, by a clock that never jumps.
    pub(crate) now: Duration,
    pub(crate) facts: Arc<Facts>,
    /// Begun and not answered. Counted as if it had happened, but never as done.
    pub(crate) sent: HashMap<Key, Action>,
    /// What is due is told whatever it needs first: for previews, never for runs.
    pub(crate) ahead: bool,
    /// Refused as it stands: the same again would be refused again.
    pub(crate) refused: HashMap<Key, (Action, Failure)>,
    /// Machines that failed in this run, by pool and hash, for each zone.
    pub(crate) setbacks: HashMap<(Arc<str>, Hash), Vec<u32>>,
    /// Why the last one of a pool and zone failed.
    pub(crate) last_setback: HashMap<(Arc<str>, usize), (Class, Arc<str>)>,
}

impl Observed {
    pub(crate) fn pool(&self, name: &str) -> impl Iterator<Item = (&Arc<str>, &Machine)> {
        self.facts.machines.get(name).into_iter().flatten()
    }

    /// Counts a machine against its zone when it is removed because it failed.
    pub(crate) fn count_setback(&mut self, action: &Action) {
        let (Action::Delete(target) | Action::Drain(target)) = action else {
            return;
        };
        if let Some(setback) = &target.setback {
            let counts = self
                .setbacks
                .entry((setback.pool.clone(), setback.hash))
                .or_default();
            counts.resize(counts.len().max(setback.zone + 1), 0);
            counts[setback.zone] += 1;
            let place = (setback.pool.clone(), setback.zone);
            self.last_setback
                .insert(place, (setback.class, setback.why.clone()));
        }
    }
}
