//! The rolling update with a stale cache.
//!
//! Requests in flight, events not yet delivered, faults, lost requests, a crash at any time, and one edit of the
//! manifest. Requests in flight are memory, so this needs a search of the reachable states. Three rules keep the
//! bounds: the plan sees what was sent, a removal because of "not ready" checks readiness again, and the first LIST
//! of a run is consistent. Without any one of them a bound is violated.

use super::Rule;
use super::violations::Violations;
use crate::plan::roll::{Phase, roll};
use std::collections::{HashMap, VecDeque};
use std::fmt;

mod cycles;
mod steps;
mod tests;

/// Status of a machine, actual or observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum MachineStatus {
    Absent,
    Is(Phase),
    /// The create request has no answer yet.
    CreateSent,
    /// The delete request has no answer yet; it was decided in this phase.
    RemoveSent(Phase),
}

/// A machine as it is, and as the cache shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MachineEntry {
    /// A small number for each hash.
    hash: u8,
    zone: usize,
    ordinal: u32,
    actual: MachineStatus,
    observed: MachineStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    wanted: u8,
    faults: u8,
    /// Sorted, so that equal states compare equal.
    machines: Vec<MachineEntry>,
}

/// A pool, and the events that may happen to it.
#[derive(Debug, Clone, Copy)]
struct CacheModel {
    rule: Rule,
    targets: &'static [usize],
    /// The targets after the edit, which always changes the hash.
    edited: &'static [usize],
    surge: usize,
    unavailable: usize,
    /// Maximum number of faults.
    faults: u8,
    /// The plan sees requests in flight.
    tracks_sent: bool,
    /// A removal because of "not ready" checks readiness again before it acts.
    rechecks_readiness: bool,
    /// The first LIST of a run is consistent.
    consistent_list: bool,
}

#[derive(Debug, Default)]
struct SearchResult {
    states: usize,
    good_steps: usize,
    goals: usize,
    violations: Violations,
}

impl CacheModel {
    fn new(targets: &'static [usize]) -> CacheModel {
        CacheModel {
            rule: roll,
            targets,
            edited: targets,
            surge: 1,
            unavailable: 1,
            faults: 2,
            tracks_sent: true,
            rechecks_readiness: true,
            consistent_list: true,
        }
    }

    fn targets(&self, state: &State) -> &'static [usize] {
        match state.wanted {
            0 => self.targets,
            _ => self.edited,
        }
    }

    /// All desired machines are ready.
    fn initial(&self) -> State {
        let there = MachineStatus::Is(Phase::Ready);
        let zones = self.targets.iter().enumerate();
        let machines = zones.flat_map(|(zone, target)| {
            (0..).take(*target).map(move |ordinal| MachineEntry {
                hash: 0,
                zone,
                ordinal,
                actual: there,
                observed: there,
            })
        });
        State {
            wanted: 0,
            faults: 0,
            machines: machines.collect(),
        }
    }

    fn is_goal(&self, state: &State) -> bool {
        let mut targets = self.targets(state).iter().enumerate();
        let is_good = |it: &MachineEntry| {
            it.hash == state.wanted
                && it.actual == MachineStatus::Is(Phase::Ready)
                && it.observed == it.actual
        };
        let count = |zone| state.machines.iter().filter(|it| it.zone == zone).count();
        state.machines.iter().all(is_good) && targets.all(|(zone, it)| count(zone) == *it)
    }

    /// Searches all reachable states.
    fn search(&self) -> SearchResult {
        let mut result = SearchResult::default();
        let mut numbers = HashMap::from([(self.initial(), 0)]);
        let mut queue = VecDeque::from([self.initial()]);
        let mut good_steps = Vec::new();
        // States are numbered in the order of the queue.
        for from in 0.. {
            let Some(state) = queue.pop_front() else {
                break;
            };
            let is_goal = self.is_goal(&state);
            let next = steps::next(self, &state);
            result.goals += usize::from(is_goal);
            let show = || format!("{state:?}");
            for name in next.violations {
                result.violations.require(name, false, show);
            }
            let ends = is_goal || !next.good.is_empty();
            result.violations.require("ends at the goal", ends, show);
            let good = next.good.into_iter().map(|it| (true, it));
            let bad = next.bad.into_iter().map(|it| (false, it));
            for (is_good, after) in good.chain(bad) {
                let fresh = u32::try_from(numbers.len()).expect("fewer states than fit in memory");
                let to = *numbers.entry(after).or_insert_with_key(|it| {
                    queue.push_back(it.clone());
                    fresh
                });
                if is_good && to != from {
                    good_steps.push((from, to));
                }
            }
        }
        result.states = numbers.len();
        result.good_steps = good_steps.len();
        let cycles = cycles::count(result.states, good_steps);
        let show = || format!("{cycles} states of {}", result.states);
        result.violations.require("no cycles", cycles == 0, show);
        result
    }
}

impl fmt::Display for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SearchResult {
            states,
            good_steps,
            goals,
            ..
        } = self;
        write!(
            f,
            "{states} states, {good_steps} good steps, {goals} at the goal"
        )
    }
}
