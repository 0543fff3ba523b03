//! The rolling update behind a store that lags.
//!
//! Requests in flight, events not yet delivered, faults, lost requests, a crash anywhere, and one edit of the
//! manifest: what was in flight is memory, so this needs a search for what can be reached. Three rules keep
//! the bounds: what is sent is seen, a removal that rests on "not ready" looks once more, and a run's first
//! LIST is consistent. Without any of them one breaks.

use super::Rule;
use super::broken::Broken;
use crate::plan::pool::rolling_update::{Phase, roll};
use std::collections::{HashMap, VecDeque};
use std::fmt;

mod circles;
mod steps;
mod tests;

/// How a machine is, or how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Look {
    Absent,
    Is(Phase),
    /// Our request to make it has no answer yet.
    MakeSent,
    /// Our request to remove it has no answer yet; it was decided on this phase.
    RemoveSent(Phase),
}

/// A machine in the world, and in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Twin {
    /// A small number for each hash.
    hash: u8,
    zone: usize,
    ordinal: u32,
    truth: Look,
    seen: Look,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    wanted: u8,
    faults: u8,
    /// In order, for only then are like states alike.
    machines: Vec<Twin>,
}

/// A pool, and what can happen to it.
#[derive(Debug, Clone, Copy)]
struct World {
    rule: Rule,
    targets: &'static [usize],
    /// The targets after the edit, which always changes the hash.
    edited: &'static [usize],
    surge: usize,
    unavailable: usize,
    /// At most so many.
    faults: u8,
    /// The plan sees what is in flight.
    sent_is_seen: bool,
    /// What rests on "not ready" looks again before it acts.
    second_look: bool,
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
            sent_is_seen: true,
            second_look: true,
            consistent_list: true,
        }
    }

    fn targets(&self, state: &State) -> &'static [usize] {
        match state.wanted {
            0 => self.targets,
            _ => self.edited,
        }
    }

    /// All that is desired is there.
    fn first(&self) -> State {
        let there = Look::Is(Phase::Ready);
        let zones = self.targets.iter().enumerate();
        let machines = zones.flat_map(|(zone, target)| {
            (0..).take(*target).map(move |ordinal| Twin {
                hash: 0,
                zone,
                ordinal,
                truth: there,
                seen: there,
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
        let is_good = |it: &Twin| {
            it.hash == state.wanted && it.truth == Look::Is(Phase::Ready) && it.seen == it.truth
        };
        let count = |zone| state.machines.iter().filter(|it| it.zone == zone).count();
        state.machines.iter().all(is_good) && targets.all(|(zone, it)| count(zone) == *it)
    }

    /// Everything that can be reached.
    fn search(&self) -> Found {
        let mut found = Found::default();
        let mut numbers = HashMap::from([(self.first(), 0)]);
        let mut queue = VecDeque::from([self.first()]);
        let mut good_steps = Vec::new();
        // In the order of the queue, which is that of the numbers.
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
        found.broken.must("no circles", circles == 0, show);
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
