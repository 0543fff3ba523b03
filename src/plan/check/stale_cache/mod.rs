//! The rolling update with a stale cache.
//!
//! Requests in flight, events not yet delivered, faults, lost requests, a crash at any time, and one edit of the
//! manifest. Requests in flight are memory, so this needs a search of the reachable states. Three rules keep the
//! bounds: the plan sees what was sent, a removal because of "not ready" checks readiness again, and the first LIST
//! of a run is consistent. Without any one of them a bound is violated.

use super::Rule;
use super::counterexample::Broken;
use crate::plan::pool::rolling_update::{RollingPhase, roll};
use std::collections::{HashMap, VecDeque};
use std::fmt;

mod circles;
mod steps;
mod tests;

/// Status of a machine, actual or observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum MachineView {
    Absent,
    Is(RollingPhase),
    /// The create request has no answer yet.
    CreateSent,
    /// The delete request has no answer yet; it was decided in this phase.
    DeleteSent(RollingPhase),
}

/// A machine as it is, and as the cache shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CachedMachine {
    /// A small number for each hash.
    hash: u8,
    zone: usize,
    ordinal: u32,
    actual: MachineView,
    cached: MachineView,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    wanted: u8,
    faults: u8,
    /// Sorted, so that equal states compare equal.
    machines: Vec<CachedMachine>,
}

/// A pool, and the events that may happen to it.
#[derive(Debug, Clone, Copy)]
struct World {
    rule: Rule,
    targets: &'static [usize],
    /// The targets after the edit, which always changes the hash.
    edited: &'static [usize],
    surge: usize,
    unavailable: usize,
    /// Maximum number of faults.
    faults: u8,
    /// The plan sees requests in flight.
    sees_requests: bool,
    /// A removal because of "not ready" checks readiness again before it acts.
    rechecks_readiness: bool,
    /// The first LIST of a run is consistent.
    consistent_list: bool,
}

#[derive(Debug, Default)]
struct Found {
    states: usize,
    good_steps: usize,
    goals: usize,
    broken: Broken,
}

impl World {
    fn new(targets: &'static [usize]) -> World {
        World {
            rule: roll,
            targets,
            edited: targets,
            surge: 1,
            unavailable: 1,
            faults: 2,
            sees_requests: true,
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
    fn first(&self) -> State {
        let there = MachineView::Is(RollingPhase::Ready);
        let zones = self.targets.iter().enumerate();
        let machines = zones.flat_map(|(zone, target)| {
            (0..).take(*target).map(move |ordinal| CachedMachine {
                hash: 0,
                zone,
                ordinal,
                actual: there,
                cached: there,
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
        let is_good = |machine: &CachedMachine| {
            machine.hash == state.wanted
                && machine.actual == MachineView::Is(RollingPhase::Ready)
                && machine.cached == machine.actual
        };
        let count = |zone| state.machines.iter().filter(|it| it.zone == zone).count();
        state.machines.iter().all(is_good) && targets.all(|(zone, it)| count(zone) == *it)
    }

    /// Searches all reachable states.
    fn search(&self) -> Found {
        let mut found = Found::default();
        let mut numbers = HashMap::from([(self.first(), 0)]);
        let mut queue = VecDeque::from([self.first()]);
        let mut good_steps = Vec::new();
        // States are numbered in the order of the queue.
        for from in 0.. {
            let Some(state) = queue.pop_front() else {
                break;
            };
            let is_goal = self.is_goal(&state);
            let next = steps::next(self, &state);
            found.goals += usize::from(is_goal);
            let show = || format!("{state:?}");
            for name in next.broken {
                found.broken.must(name, false, show);
            }
            let ends = is_goal || !next.good.is_empty();
            found.broken.must("ends at the goal", ends, show);
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
        found.states = numbers.len();
        found.good_steps = good_steps.len();
        let circles = circles::count(found.states, good_steps);
        let show = || format!("{circles} states of {}", found.states);
        found.broken.must("no cycles", circles == 0, show);
        found
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found {
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
