//! Whole plans in a small world: random order, requests in parts, faults, crashes, and edits of the manifest.

use super::broken::Broken;
use super::dice::Dice;
use crate::flow::ChangeTracker;
use crate::plan::{delete, plan_of_machines as plan};
use crate::state::action::Action;
use crate::state::facts::{Fact, Facts, Look, Object};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::{Plan, State};
use crate::validate::ValidShoot;
use requests::Request;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

pub(crate) mod manifests;
mod moves;
mod mutants;
mod requests;
mod rules;
mod tests;

/// How plans are made, or how they are made wrong on purpose.
type Planner = fn(&ValidShoot, &Observed) -> Plan;

/// A zone of a pool.
type Zone = (Arc<str>, usize);

/// Everything ends in far fewer rounds.
const ENDS: u64 = 6_000;

#[derive(Debug, Default)]
struct Found {
    plans: u64,
    longest: u64,
    broken: Broken,
}

/// A provider cluster, and a run of ours beside it.
struct World<'a> {
    seed: u64,
    dice: Dice,
    planner: Planner,
    /// None when all of it is to go.
    shoot: Option<&'a ValidShoot>,
    observed: Observed,
    requests: Vec<Request>,
    progress: ChangeTracker,
    numbers: (usize, usize),
    queue: Vec<Action>,
    /// The last number that was given: versions, UIDs and births are of one clock.
    clock: u64,
    round: u64,
    /// Something went wrong in this run.
    hurt: bool,
    /// Runs in a row that were stuck for no reason of their own.
    stuck: u32,
    /// Where no machine ever comes up.
    dead: Option<Zone>,
    /// Where every machine is refused.
    closed: Option<Zone>,
    found: &'a mut Found,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Done,
    Moving,
    Stuck,
}

/// As the loop judges.
fn verdict(plan: &Plan) -> Verdict {
    let mut states = plan.items.iter().map(|it| &it.state);
    if states.clone().all(|it| *it == State::Done) {
        Verdict::Done
    } else if states.any(|it| matches!(it, State::Due(_) | State::Waiting(_))) {
        Verdict::Moving
    } else {
        Verdict::Stuck
    }
}

impl<'a> World<'a> {
    fn new(seed: u64, planner: Planner, found: &'a mut Found) -> World<'a> {
        let facts = Facts {
            namespace: "ns".into(),
            ..Facts::default()
        };
        World {
            seed,
            dice: Dice::new(seed),
            planner,
            shoot: None,
            observed: Observed {
                facts: facts.into(),
                ..Observed::default()
            },
            requests: Vec::new(),
            progress: ChangeTracker::default(),
            numbers: (0, 0),
            queue: Vec::new(),
            clock: 0,
            round: 0,
            hurt: false,
            stuck: 0,
            dead: None,
            closed: None,
            found,
        }
    }

    fn facts(&mut self) -> &mut Facts {
        Arc::make_mut(&mut self.observed.facts)
    }

    fn next(&mut self) -> Arc<str> {
        self.clock += 1;
        self.clock.to_string().into()
    }

    fn must(&mut self, name: &'static str, holds: bool, show: impl FnOnce() -> String) {
        let (seed, round) = (self.seed, self.round);
        let show = || format!("seed {seed}, round {round}: {}", show());
        self.found.broken.must(name, holds, show);
    }

    /// Runs until it is done or stuck; perhaps a crash comes first.
    fn run(&mut self, quiet: bool, faults_until: u64) -> Option<Verdict> {
        self.types_move();
        self.begin();
        loop {
            self.round += 1;
            let faults = !quiet && self.round < faults_until;
            let plan = self.plan();
            self.check_plan(&plan);
            if self.dice.one_in(10) {
                self.check_flicker(&plan);
            }
            self.check_progress(&plan, quiet);
            let verdict = verdict(&plan);
            if verdict != Verdict::Moving && self.requests.is_empty() {
                return Some(verdict);
            }
            if self.round > ENDS {
                self.must("ends", false, String::new);
                return None;
            }
            if (faults || quiet) && self.dice.one_in(60) {
                self.cut_off();
                return None;
            }
            self.work(&plan, faults);
        }
    }

    /// Objects of an earlier shoot of the same name, which go with this one.
    fn leave_something(&mut self) {
        for kind in [Kind::Network, Kind::UserData] {
            let uid = self.next();
            let object = Object {
                version: uid.clone(),
                uid,
                hash: Hash(0),
                leaving: false,
                fact: Fact::None,
            };
            let key = Key::provider(kind, "of-an-earlier-shoot");
            self.facts().foreign.insert(key, object);
        }
    }

    fn plan(&mut self) -> Plan {
        self.found.plans += 1;
        match self.shoot {
            Some(shoot) => (self.planner)(shoot, &self.observed),
            None => delete(&self.observed, false),
        }
    }

    /// Some of what is due is sent, on this one plan, while the world moves.
    fn work(&mut self, plan: &Plan, faults: bool) {
        let due = plan.items.iter().filter_map(|it| match &it.state {
            State::Due(action) => Some(action.clone()),
            _ => None,
        });
        self.queue = due.collect();
        for _ in 0..=self.dice.roll(12) {
            match self.dice.roll(5) {
                0 | 1 if !self.queue.is_empty() => {
                    let chosen = self.dice.roll(self.queue.len());
                    let action = self.queue.swap_remove(chosen);
                    self.send(action);
                }
                0..4 => self.post(faults),
                _ => self.moves(faults),
            }
        }
    }

    /// A new run knows nothing of the last one.
    fn begin(&mut self) {
        let forgets_ready = self.hurt && self.dice.one_in(2);
        self.observed.now = Duration::ZERO;
        self.observed.sent.clear();
        self.observed.refused.clear();
        self.observed.setbacks.clear();
        let machines = self.facts().machines.values_mut();
        for machine in machines.flat_map(|it| it.values_mut()) {
            machine.since = Duration::ZERO;
            machine.look = match machine.look {
                Look::Drained => Look::Draining,
                // Whether it was ready once is not to be seen.
                Look::NotReady if forgets_ready => Look::Coming,
                other => other,
            };
        }
        self.progress = ChangeTracker::default();
        self.numbers = (0, 0);
        self.hurt = false;
    }

    fn check_progress(&mut self, plan: &Plan, quiet: bool) {
        self.progress.update(plan, self.round);
        let (done, total) = self.progress.numbers();
        let before = std::mem::replace(&mut self.numbers, (done, total));
        let show = || format!("{before:?}, then {done} of {total}");
        let holds = total >= before.1 && (!quiet || done >= before.0);
        self.must("progress never goes back", holds, show);
        let is_first = before == (0, 0);
        let holds = !quiet || is_first || total == before.1;
        self.must("the first plan has every item", holds, show);
    }
}

/// One world through all edits, and to its end.
fn live(seed: u64, planner: Planner, edits: &[Vec<ValidShoot>], found: &mut Found) {
    let mut world = World::new(seed, planner, found);
    let edits = &edits[world.dice.roll(edits.len())];
    let quiet = world.dice.one_in(2);
    let faults_until = 40 + world.dice.roll(200) as u64;
    let mut edit = 0;
    let mut goes = false;
    loop {
        world.shoot = Some(&edits[edit]).filter(|_| !goes);
        if goes && world.dice.one_in(4) {
            world.leave_something();
        }
        let ended = world.run(quiet, faults_until);
        match ended {
            Some(Verdict::Done) => world.check_goal(),
            Some(_) => check_stuck(&mut world, quiet),
            None => {}
        }
        let done = ended == Some(Verdict::Done);
        if world.round > ENDS || world.stuck > 3 || done && goes {
            break;
        }
        if done && !goes {
            check_again(&mut world);
        }
        // A manifest is changed, or given up, at any time; and in the end.
        goes |= edit + 1 == edits.len() && done || !done && world.dice.one_in(20);
        if edit + 1 < edits.len() && (done || world.dice.one_in(2)) {
            edit += 1;
        }
    }
    let rounds = world.round;
    found.longest = found.longest.max(rounds);
}

/// A run may be stuck when something failed in it, or before it and was found by it.
fn check_stuck(world: &mut World, quiet: bool) {
    world.stuck = if world.hurt { 0 } else { world.stuck + 1 };
    let holds = world.stuck == 0 || !quiet && world.stuck <= 3;
    let plan = world.plan();
    world.must("not stuck without a fault", holds, || format!("{plan:#?}"));
    if !holds {
        world.stuck = 4;
    }
}

/// The next run finds nothing to do.
fn check_again(world: &mut World) {
    world.begin();
    let plan = world.plan();
    let holds = verdict(&plan) == Verdict::Done;
    world.must("nothing is due after that", holds, || format!("{plan:#?}"));
}

fn search(planner: Planner, seeds: std::ops::RangeInclusive<u64>) -> Found {
    static EDITS: LazyLock<[Vec<ValidShoot>; 5]> =
        LazyLock::new(|| manifests::BOUNDS.map(manifests::edits));
    let mut found = Found::default();
    for seed in seeds {
        live(seed, planner, &*EDITS, &mut found);
    }
    found
}
