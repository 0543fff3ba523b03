//! Input of a plan besides the manifest: facts, and what this run knows.

use crate::state::action::Action;
use crate::state::duty::Duty;
use crate::state::facts::{Facts, ObservedMachine};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::ObjectKey;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Input of a plan besides the manifest.
#[derive(Debug, Default, Clone)]
pub(crate) struct Observed {
    /// Time since the run began, by a monotonic clock.
    pub(crate) now: Duration,
    pub(crate) facts: Arc<Facts>,
    /// Requests sent and not yet answered. Counted as if they had happened, but never as done.
    pub(crate) sent: HashMap<ObjectKey, Action>,
    /// Lists due items even if their dependencies are not done: for previews, never for runs.
    pub(crate) ahead: bool,
    /// Rejected actions. The same request would be rejected again.
    pub(crate) refused: HashMap<ObjectKey, (Action, Failure)>,
    /// Machines that failed in this run, by pool and hash, for each zone.
    pub(crate) zone_failures: HashMap<(Arc<str>, Hash), Vec<u32>>,
    /// Cause of the last failure per pool and zone.
    pub(crate) last_zone_failure: HashMap<(Arc<str>, usize), (ErrorClass, Arc<str>)>,
    /// Duties that are left out of the plan.
    pub(crate) skipped: BTreeSet<Duty>,
}

impl Observed {
    pub(crate) fn pool(&self, name: &str) -> impl Iterator<Item = (&Arc<str>, &ObservedMachine)> {
        self.facts.machines.get(name).into_iter().flatten()
    }

    /// Counts a machine against its zone when it is removed because it failed.
    pub(crate) fn count_zone_failure(&mut self, action: &Action) {
        let (Action::Delete(target) | Action::Drain(target)) = action else {
            return;
        };
        if let Some(setback) = &target.zone_failure {
            let counts = self
                .zone_failures
                .entry((setback.pool.clone(), setback.hash))
                .or_default();
            counts.resize(counts.len().max(setback.zone + 1), 0);
            counts[setback.zone] += 1;
            let place = (setback.pool.clone(), setback.zone);
            self.last_zone_failure
                .insert(place, (setback.class, setback.why.clone()));
        }
    }
}
