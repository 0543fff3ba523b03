//! Complete plans in a small simulation: random order, partial requests, faults, crashes, and edits of the manifest.

use super::rng::Rng;
use super::violations::Violations;
use crate::flow::Progress;
use crate::plan::item::{Action, Key, Kind, Plan, State};
use crate::plan::observed::{Fact, Facts, Look, Object, Observed};
use crate::plan::{Hash, delete, plan_of_machines as plan};
use crate::validate::ValidShoot;
use requests::Request;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

mod external;
pub(super) mod manifests;
mod mutations;
mod requests;
mod rules;
mod tests;

/// The planner, or a deliberately broken one.
type Planner = fn(&ValidShoot, &Observed) -> Plan;

/// A zone of a pool.
type Zone = (Arc<str>, usize);

/// Upper bound of rounds; every run needs far fewer.
const MAX_ROUNDS: u64 = 6_000;

#[derive(Debug, Default)]
struct SearchResult {
    plans: u64,
    longest: u64,
    violations: Violations,
}

/// A provider cluster, and a run of ours.
struct Simulation<'a> {
    seed: u64,
    rng: Rng,
    planner: Planner,
    /// None while everything is to be deleted.
    shoot: Option<&'a ValidShoot>,
    observed: Observed,
    requests: Vec<Request>,
    progress: Progress,
    numbers: (usize, usize),
    queue: Vec<Action>,
    /// Last number issued: versions, UIDs and creation times share one clock.
    clock: u64,
    round: u64,
    /// A fault happened in this run.
    had_fault: bool,
    /// Consecutive runs that were stuck without a fault.
    stuck: u32,
    /// Zone in which machines never become ready.
    dead_zone: Option<Zone>,
    /// Zone in which every machine is rejected.
    refusing_zone: Option<Zone>,
    result: &'a mut SearchResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunOutcome {
    Done,
    Moving,
    Stuck,
}

/// The outcome by the rules of the run loop.
fn outcome(plan: &Plan) -> RunOutcome {
    let mut states = plan.items.iter().map(|it| &it.state);
    if states.clone().all(|it| *it == State::Done) {
        RunOutcome::Done
    } else if states.any(|it| matches!(it, State::Due(_) | State::Waiting(_))) {
        RunOutcome::Moving
    } else {
        RunOutcome::Stuck
    }
}

impl<'a> Simulation<'a> {
    fn new(seed: u64, planner: Planner, result: &'a mut SearchResult) -> Simulation<'a> {
        let facts = Facts {
            namespace: "ns".into(),
            ..Facts::default()
        };
        Simulation {
            seed,
            rng: Rng::new(seed),
            planner,
            shoot: None,
            observed: Observed {
                facts: facts.into(),
                ..Observed::default()
            },
            requests: Vec::new(),
            progress: Progress::default(),
            numbers: (0, 0),
            queue: Vec::new(),
            clock: 0,
            round: 0,
            had_fault: false,
            stuck: 0,
            dead_zone: None,
            refusing_zone: None,
            result,
        }
    }

    fn facts(&mut self) -> &mut Facts {
        Arc::make_mut(&mut self.observed.facts)
    }

    fn next(&mut self) -> Arc<str> {
        self.clock += 1;
        self.clock.to_string().into()
    }

    fn require(&mut self, name: &'static str, holds: bool, show: impl FnOnce() -> String) {
        let (seed, round) = (self.seed, self.round);
        let show = || format!("seed {seed}, round {round}: {}", show());
        self.result.violations.require(name, holds, show);
    }

    /// Runs until it is done or stuck. None after a crash, or when it does not end.
    fn run(&mut self, quiet: bool, faults_until: u64) -> Option<RunOutcome> {
        self.change_types();
        self.begin();
        loop {
            self.round += 1;
            let faults = !quiet && self.round < faults_until;
            let plan = self.plan();
            self.check_plan(&plan);
            if self.rng.one_in(10) {
                self.check_flicker(&plan);
            }
            self.check_progress(&plan, quiet);
            let verdict = outcome(&plan);
            if verdict != RunOutcome::Moving && self.requests.is_empty() {
                return Some(verdict);
            }
            if self.round > MAX_ROUNDS {
                self.require("ends", false, String::new);
                return None;
            }
            if (faults || quiet) && self.rng.one_in(60) {
                self.cut_off();
                return None;
            }
            self.work(&plan, faults);
        }
    }

    /// Objects of an earlier shoot of the same name, which are deleted with this one.
    fn leave_foreign_objects(&mut self) {
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
        self.result.plans += 1;
        match self.shoot {
            Some(shoot) => (self.planner)(shoot, &self.observed),
            None => delete(&self.observed, false),
        }
    }

    /// Sends some of the actions due in this plan while the simulation proceeds.
    fn work(&mut self, plan: &Plan, faults: bool) {
        let due = plan.items.iter().filter_map(|it| match &it.state {
            State::Due(action) => Some(action.clone()),
            _ => None,
        });
        self.queue = due.collect();
        for _ in 0..=self.rng.below(12) {
            match self.rng.below(5) {
                0 | 1 if !self.queue.is_empty() => {
                    let chosen = self.rng.below(self.queue.len());
                    let action = self.queue.swap_remove(chosen);
                    self.send(action);
                }
                0..4 => self.advance_request(faults),
                _ => self.step(faults),
            }
        }
    }

    /// A new run does not know anything of the last one.
    fn begin(&mut self) {
        let forgets_ready = self.had_fault && self.rng.one_in(2);
        self.observed.now = Duration::ZERO;
        self.observed.sent.clear();
        self.observed.refused.clear();
        self.observed.setbacks.clear();
        let machines = self.facts().machines.values_mut();
        for machine in machines.flat_map(|it| it.values_mut()) {
            machine.since = Duration::ZERO;
            machine.look = match machine.look {
                Look::Drained => Look::Draining,
                // Whether it was ready before cannot be observed.
                Look::NotReady if forgets_ready => Look::Coming,
                other => other,
            };
        }
        self.progress = Progress::default();
        self.numbers = (0, 0);
        self.had_fault = false;
    }

    fn check_progress(&mut self, plan: &Plan, quiet: bool) {
        self.progress.update(plan, self.round);
        let (done, total) = self.progress.numbers();
        let before = std::mem::replace(&mut self.numbers, (done, total));
        let show = || format!("{before:?}, then {done} of {total}");
        let holds = total >= before.1 && (!quiet || done >= before.0);
        self.require("progress never decreases", holds, show);
        let is_first = before == (0, 0);
        let holds = !quiet || is_first || total == before.1;
        self.require("the first plan has every item", holds, show);
    }
}

/// One simulation through all edits and the deletion.
fn simulate(seed: u64, planner: Planner, edits: &[Vec<ValidShoot>], result: &mut SearchResult) {
    let mut simulation = Simulation::new(seed, planner, result);
    let edits = &edits[simulation.rng.below(edits.len())];
    let quiet = simulation.rng.one_in(2);
    let faults_until = 40 + simulation.rng.below(200) as u64;
    let mut edit = 0;
    let mut deleting = false;
    loop {
        simulation.shoot = Some(&edits[edit]).filter(|_| !deleting);
        if deleting && simulation.rng.one_in(4) {
            simulation.leave_foreign_objects();
        }
        let ended = simulation.run(quiet, faults_until);
        match ended {
            Some(RunOutcome::Done) => simulation.check_goal(),
            Some(_) => check_stuck(&mut simulation, quiet),
            None => {}
        }
        let done = ended == Some(RunOutcome::Done);
        if simulation.round > MAX_ROUNDS || simulation.stuck > 3 || done && deleting {
            break;
        }
        if done && !deleting {
            check_next_run(&mut simulation);
        }
        // The manifest is edited, or the shoot deleted, at any time and in the end.
        deleting |= edit + 1 == edits.len() && done || !done && simulation.rng.one_in(20);
        if edit + 1 < edits.len() && (done || simulation.rng.one_in(2)) {
            edit += 1;
        }
    }
    let rounds = simulation.round;
    result.longest = result.longest.max(rounds);
}

/// A run may be stuck if something failed during it, or before it.
fn check_stuck(simulation: &mut Simulation, quiet: bool) {
    simulation.stuck = if simulation.had_fault {
        0
    } else {
        simulation.stuck + 1
    };
    let holds = simulation.stuck == 0 || !quiet && simulation.stuck <= 3;
    let plan = simulation.plan();
    simulation.require("not stuck without a fault", holds, || format!("{plan:#?}"));
    if !holds {
        simulation.stuck = 4;
    }
}

/// The next run finds nothing to do.
fn check_next_run(simulation: &mut Simulation) {
    simulation.begin();
    let plan = simulation.plan();
    let holds = outcome(&plan) == RunOutcome::Done;
    simulation.require("nothing is due afterwards", holds, || format!("{plan:#?}"));
}

fn search(planner: Planner, seeds: std::ops::RangeInclusive<u64>) -> SearchResult {
    static EDITS: LazyLock<[Vec<ValidShoot>; 5]> =
        LazyLock::new(|| manifests::BOUNDS.map(manifests::edits));
    let mut result = SearchResult::default();
    for seed in seeds {
        simulate(seed, planner, &*EDITS, &mut result);
    }
    result
}
