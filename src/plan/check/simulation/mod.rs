//! Complete plans in a small simulation: random order, partial requests, faults, crashes, and edits of the manifest.

use super::counterexample::Broken;
use super::rng::Dice;
use crate::flow::ChangeTracker;
use crate::plan::{delete, plan_of_machines as plan};
use crate::state::action::Action;
use crate::state::desired;
use crate::state::desired::machine_content::MachineContent;
use crate::state::facts::{Facts, MachinePhase, ObjectStatus, ObservedObject};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};
use crate::validate::{PoolSpec, ValidShoot};
use requests::Request;
use rules::show_open;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

pub(crate) mod manifests;
mod moves;
mod mutants;
mod requests;
mod rules;
mod tests;

/// The planner, or a deliberately broken one.
type Planner = fn(&ValidShoot, &Observed) -> Plan;

/// A zone of a pool.
type Zone = (Arc<str>, usize);

/// Content of the machines of a pool. No CA is rotated in these worlds, and another strategy alone replaces no machine.
fn content(shoot: &ValidShoot, facts: &Facts, pool: &PoolSpec) -> MachineContent {
    let attachments = desired::attachments(shoot, facts);
    MachineContent {
        roots: None,
        ..desired::pool_hashes(shoot, pool, &attachments, None).content
    }
}

/// Upper bound of rounds; every run needs far fewer.
const ENDS: u64 = 6_000;

#[derive(Debug, Default)]
struct Found {
    plans: u64,
    /// Requests that are sent, land or are answered, and what happens by itself.
    moves: u64,
    longest: u64,
    broken: Broken,
}

impl Found {
    fn merge(&mut self, other: Found) {
        self.plans += other.plans;
        self.moves += other.moves;
        self.longest = self.longest.max(other.longest);
        self.broken.merge(other.broken);
    }
}

/// A provider cluster, and a run of ours.
struct World<'a> {
    seed: u64,
    dice: Dice,
    planner: Planner,
    /// None while everything is to be deleted.
    shoot: Option<&'a ValidShoot>,
    observed: Observed,
    requests: Vec<Request>,
    progress: ChangeTracker,
    numbers: (usize, usize),
    queue: Vec<Action>,
    /// Last number issued: versions, UIDs and creation times share one clock.
    clock: u64,
    round: u64,
    /// A fault happened in this run.
    hurt: bool,
    /// Consecutive runs that were stuck without a fault.
    stuck: u32,
    /// Zone in which machines never become ready.
    dead: Option<Zone>,
    /// Zone in which every machine is rejected.
    closed: Option<Zone>,
    /// Maximum number of machines of pools by the sizes that requests in flight were planned for.
    planned: BTreeMap<String, usize>,
    found: &'a mut Found,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Done,
    Moving,
    Stuck,
}

/// The outcome by the rules of the run loop.
fn verdict(plan: &Plan) -> Verdict {
    let mut states = plan.items.iter().map(|it| &it.state);
    if states.clone().all(|it| *it == ItemState::Done) {
        Verdict::Done
    } else if states.any(|it| matches!(it, ItemState::Due(_) | ItemState::Waiting(_))) {
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
            planned: BTreeMap::new(),
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

    /// Runs until it is done or stuck. None after a crash, or when it does not end.
    fn run(&mut self, quiet: bool, faults_until: u64) -> Option<Verdict> {
        self.change_types();
        self.begin();
        loop {
            self.round += 1;
            let faults = !quiet && self.round < faults_until;
            if self.requests.is_empty() {
                self.planned.clear();
            }
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
                self.must("ends", false, || show_open(&plan));
                return None;
            }
            if (faults || quiet) && self.dice.one_in(60) {
                self.cut_off();
                return None;
            }
            self.work(&plan, faults);
        }
    }

    /// Objects of an earlier shoot of the same name, which are deleted with this one.
    fn leave_foreign_objects(&mut self) {
        for kind in [
            ObjectKind::NetworkAttachmentDefinition,
            ObjectKind::UserData,
        ] {
            let uid = self.next();
            let object = ObservedObject {
                version: uid.clone(),
                uid,
                hash: Hash(0),
                leaving: false,
                status: ObjectStatus::None,
            };
            let key = ObjectKey::provider(kind, "of-an-earlier-shoot");
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

    /// Sends some of the actions due in this plan while the simulation proceeds.
    fn work(&mut self, plan: &Plan, faults: bool) {
        let due = plan.items.iter().filter_map(|item| match &item.state {
            ItemState::Due(action) => Some(action.clone()),
            _ => None,
        });
        self.queue = due.collect();
        for _ in 0..=self.dice.roll(12) {
            self.found.moves += 1;
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

    /// A new run does not know anything of the last one.
    fn begin(&mut self) {
        let forgets_ready = self.hurt && self.dice.one_in(2);
        self.observed.now = Duration::ZERO;
        self.observed.sent.clear();
        self.observed.refused.clear();
        self.observed.zone_failures.clear();
        let machines = self.facts().machines.values_mut();
        for machine in machines.flat_map(|it| it.values_mut()) {
            machine.since = Duration::ZERO;
            machine.phase = match machine.phase {
                MachinePhase::Drained => MachinePhase::Draining,
                // Whether it was ready before cannot be observed.
                MachinePhase::NotReady if forgets_ready => MachinePhase::Provisioning,
                other => other,
            };
        }
        self.progress = ChangeTracker::default();
        self.numbers = (0, 0);
        self.hurt = false;
    }

    fn check_progress(&mut self, plan: &Plan, quiet: bool) {
        self.progress.update(plan, self.round, &self.observed.facts);
        let (done, total) = self.progress.numbers();
        let before = std::mem::replace(&mut self.numbers, (done, total));
        let show = || format!("{before:?}, then {done} of {total}");
        let holds = total >= before.1 && (!quiet || done >= before.0);
        self.must("progress never decreases", holds, show);
        let is_first = before == (0, 0);
        let holds = !quiet || is_first || total == before.1;
        self.must("the first plan has every item", holds, show);
    }
}

/// One simulation through all edits and the deletion.
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
            world.leave_foreign_objects();
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
            check_next_run(&mut world);
        }
        // The manifest is edited, or the shoot deleted, at any time and in the end.
        goes |= edit + 1 == edits.len() && done || !done && world.dice.one_in(20);
        if edit + 1 < edits.len() && (done || world.dice.one_in(2)) {
            edit += 1;
        }
    }
    let rounds = world.round;
    found.longest = found.longest.max(rounds);
}

/// A run may be stuck if something failed during it, or before it.
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
fn check_next_run(world: &mut World) {
    world.begin();
    let plan = world.plan();
    let holds = verdict(&plan) == Verdict::Done;
    world.must("nothing is due afterwards", holds, || format!("{plan:#?}"));
}

/// Simulates a world for each of the seeds, one after another.
fn search(planner: Planner, seeds: impl Iterator<Item = u64>) -> Found {
    static EDITS: LazyLock<[Vec<ValidShoot>; 5]> =
        LazyLock::new(|| manifests::BOUNDS.map(manifests::edits));
    let mut found = Found::default();
    for seed in seeds {
        live(seed, planner, &*EDITS, &mut found);
    }
    found
}
