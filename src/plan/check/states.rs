//! Every state of one pool, reachable or not.
//!
//! The rolling update has no memory, so a crash followed by a new observation, an edit halfway through and leftovers of
//! an older run are just other states. An invariant that holds in each state and for each single move holds for every
//! history. Enumerating all multisets needs no set of visited states.

use super::counterexample::Broken;
use super::invariants::{Case, INVARIANTS, ORDER_IS_FREE};
use super::{NOW, Rule};
use crate::plan::pool::rolling_update::{RollingMachine, RollingPhase, RollingPool, roll};
use crate::state::desired::spread;
use crate::state::hash::Hash;
use std::fmt;

const OLD: Hash = Hash(3 << 44);

/// Hash, zone and phase: everything the rule distinguishes except age and ordinal.
type Kind = (Hash, usize, RollingPhase);

/// A family of pools and the machines that they may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub(crate) rule: Rule,
    /// Maximum number of desired machines.
    pub(crate) desired: usize,
    /// Maximum number of zones.
    pub(crate) zones: usize,
    /// Number of machines that may exist beyond desired and surge.
    pub(crate) beyond: usize,
    /// Zones may have failed once, or be given up.
    pub(crate) setbacks: bool,
    /// Performs each single move and checks the plan again.
    pub(crate) order: bool,
    /// Stops at the first violation of this invariant.
    pub(crate) until: Option<&'static str>,
    /// Kinds of machines, by the number of zones.
    pub(crate) kinds: fn(usize) -> Vec<Kind>,
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    configurations: usize,
    states: u64,
    moves: u64,
    pub(crate) broken: Broken,
}

impl Search {
    pub(crate) const SMALL: Search = Search {
        rule: roll,
        desired: 2,
        zones: 2,
        beyond: 0,
        setbacks: false,
        order: true,
        until: None,
        kinds,
    };

    pub(crate) fn run(&self) -> Found {
        let mut found = Found::default();
        for zones in 1..=self.zones {
            let kinds = (self.kinds)(zones);
            for desired in 0..=self.desired {
                let targets = spread(desired, zones);
                for (surge, unavailable) in bounds(desired) {
                    for setbacks in self.memories(zones) {
                        let pool = RollingPool {
                            hash: NOW,
                            targets: &targets,
                            surge,
                            unavailable,
                            failures: &setbacks,
                            failure_limit: 2,
                            reserved_names: &[],
                        };
                        let room = desired + surge + self.beyond;
                        found.configurations += 1;
                        self.states(&pool, &kinds, room, &mut Vec::new(), &mut found);
                    }
                }
            }
        }
        found
    }

    /// Setbacks by zone: never failed, failed once, given up.
    fn memories(&self, zones: usize) -> Vec<Vec<u32>> {
        let mut memories = vec![Vec::new()];
        for _ in 0..zones {
            let all = if self.setbacks { 0..=2 } else { 0..=0 };
            let longer = |it: Vec<u32>| all.clone().map(move |last| [&it[..], &[last]].concat());
            memories = memories.into_iter().flat_map(longer).collect();
        }
        memories
    }

    /// All multisets of at most `room` machines of these kinds.
    fn states(
        &self,
        pool: &RollingPool,
        kinds: &[Kind],
        room: usize,
        machines: &mut Vec<RollingMachine>,
        found: &mut Found,
    ) {
        if self.until.is_some_and(|it| found.broken.has(it)) {
            return;
        }
        let Some((&(hash, zone, phase), rest)) = kinds.split_first() else {
            return self.state(pool, machines, found);
        };
        let before = machines.len();
        self.states(pool, rest, room, machines, found);
        for n in 1..=room {
            let same_name = |it: &&RollingMachine| (it.hash.tag(), it.zone) == (hash.tag(), zone);
            let ordinal = machines.iter().filter(same_name).count();
            // Ages alternate against the order of the kinds, so that no phase is always the oldest.
            let place = machines.len() as u64;
            let born = if n % 2 == 0 { 100 + place } else { 100 - place };
            machines.push(RollingMachine {
                hash,
                zone,
                ordinal: u32::try_from(ordinal).expect("a small pool"),
                phase,
                born,
            });
            self.states(pool, rest, room - n, machines, found);
        }
        machines.truncate(before);
    }

    fn state(&self, pool: &RollingPool, machines: &[RollingMachine], found: &mut Found) {
        let case = Case::new(self.rule, pool, machines);
        found.states += 1;
        found.moves += case.moves() as u64;
        let order = self.order.then_some(ORDER_IS_FREE);
        for (name, holds) in INVARIANTS.into_iter().chain(order) {
            found.broken.must(name, holds(&case), || case.to_string());
        }
    }
}

/// Surge and unavailable, not both zero; values beyond the number of machines are clamped.
fn bounds(desired: usize) -> impl Iterator<Item = (usize, usize)> {
    let all = (0..=2).flat_map(|surge| (0..=2).map(move |unavailable| (surge, unavailable)));
    all.filter(|it| *it != (0, 0))
        .map(move |(surge, unavailable)| (surge, unavailable.min(desired)))
        .filter(move |it| desired == 0 || *it != (0, 0))
}

const LIVE_OR_FAILED: [RollingPhase; 4] = [
    RollingPhase::Creating,
    RollingPhase::Ready,
    RollingPhase::NotReady,
    RollingPhase::Failed,
];

/// One desired hash and one other; terminating machines are all alike.
fn kinds(zones: usize) -> Vec<Kind> {
    let mut kinds = vec![(NOW, 0, RollingPhase::Deleting)];
    kinds.extend(product(&[NOW, OLD], zones, &LIVE_OR_FAILED));
    kinds
}

/// An old hash with the same tag as the desired one, so that names may collide.
fn kinds_with_a_collision(zones: usize) -> Vec<Kind> {
    let alike = Hash(NOW.0 + 1);
    let mut kinds = vec![
        (NOW, 0, RollingPhase::Deleting),
        (alike, 0, RollingPhase::Deleting),
    ];
    kinds.extend(product(&[NOW, alike], zones, &LIVE_OR_FAILED));
    kinds
}

/// Machines also in a zone that the pool does not have.
fn kinds_in_one_zone_more(zones: usize) -> Vec<Kind> {
    kinds(zones + 1)
}

/// Three hashes, and all phases, even equivalent ones.
fn all_kinds(zones: usize) -> Vec<Kind> {
    let leaving = [RollingPhase::Draining, RollingPhase::Deleting];
    let phases = [&LIVE_OR_FAILED[..], &leaving].concat();
    product(&[NOW, OLD, Hash(9 << 44)], zones, &phases)
}

fn product(hashes: &[Hash], zones: usize, phases: &[RollingPhase]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for hash in hashes {
        for zone in 0..zones {
            kinds.extend(phases.iter().map(|phase| (*hash, zone, *phase)));
        }
    }
    kinds
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found {
            configurations,
            states,
            moves,
            ..
        } = self;
        write!(
            f,
            "{configurations} configurations, {states} states, {moves} moves"
        )
    }
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search prints what it covered")]
fn check(name: &str, search: Search) {
    let found = search.run();
    println!("{name}: {found}");
    found.broken.assert_none();
}

#[test]
fn every_bound_holds_in_every_state_and_any_order() {
    let search = Search {
        desired: 3,
        ..Search::SMALL
    };
    check("up to 3 machines in 2 zones", search);
}

#[test]
fn every_bound_holds_in_every_state_with_failed_zones() {
    let search = Search {
        setbacks: true,
        ..Search::SMALL
    };
    check("up to 2 machines in 2 zones with failures", search);
}

#[test]
fn every_bound_holds_in_every_state_after_a_scale_in() {
    let search = Search {
        beyond: 1,
        order: false,
        ..Search::SMALL
    };
    check("up to 2 machines in 2 zones, and 1 beyond", search);
}

#[test]
fn hashes_with_the_same_tag_share_no_name() {
    let search = Search {
        kinds: kinds_with_a_collision,
        ..Search::SMALL
    };
    check("up to 2 machines of hashes with the same tag", search);
}

#[test]
fn machines_in_a_zone_beyond_the_list_are_surplus() {
    let search = Search {
        kinds: kinds_in_one_zone_more,
        ..Search::SMALL
    };
    check("up to 2 machines in 2 zones of 3", search);
}

#[test]
#[ignore = "second tier: an exhaustive search, which takes minutes"]
fn exhaustive_every_state() {
    let search = Search {
        desired: 6,
        zones: 3,
        ..Search::SMALL
    };
    check("up to 6 machines in 3 zones", search);
}

#[test]
#[ignore = "second tier: an exhaustive search, which takes minutes"]
fn exhaustive_every_state_after_a_scale_in() {
    let search = Search {
        desired: 4,
        zones: 3,
        beyond: 2,
        order: false,
        ..Search::SMALL
    };
    check("up to 4 machines in 3 zones, and 2 beyond", search);
}

#[test]
#[ignore = "second tier: an exhaustive search, which takes minutes"]
fn exhaustive_every_state_with_failed_zones() {
    let search = Search {
        zones: 3,
        setbacks: true,
        ..Search::SMALL
    };
    check("up to 2 machines in 3 zones with failures", search);
}

#[test]
#[ignore = "second tier: an exhaustive search, which takes minutes"]
fn exhaustive_every_state_with_three_hashes() {
    let search = Search {
        desired: 3,
        kinds: all_kinds,
        ..Search::SMALL
    };
    check("up to 3 machines of 3 hashes in 2 zones", search);
}

#[test]
#[ignore = "second tier: an exhaustive search, which takes minutes"]
fn exhaustive_every_state_in_a_zone_beyond_the_list() {
    let search = Search {
        desired: 4,
        kinds: kinds_in_one_zone_more,
        ..Search::SMALL
    };
    check("up to 4 machines in 2 zones of 3", search);
}
