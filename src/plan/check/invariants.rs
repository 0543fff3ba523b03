//! Invariants of every state of a pool and every move that is due in it.

use super::{NOW, Rule};
use crate::plan::pool::rolling_update::{RollingMachine, RollingPhase, RollingPool, Transition};
use std::fmt;

type Invariant = (&'static str, fn(&Case) -> bool);

pub(crate) const INVARIANTS: [Invariant; 16] = [
    ("total", total),
    ("available", available),
    ("may recover", may_recover),
    ("once", once),
    ("names", names),
    ("keeps what is needed", keeps_what_is_needed),
    ("makes what is needed", makes_what_is_needed),
    ("no new where given up", no_new_where_given_up),
    ("keeps where given up", keeps_where_given_up),
    ("idle surplus first", idle_surplus_first),
    ("unhealthy first", unhealthy_first),
    ("outdated first", outdated_first),
    ("failed are removed", failed_machines_are_removed),
    ("does all it may", does_all_it_may),
    ("makes progress", makes_progress),
    ("ends at the goal", ends_at_the_goal),
];

/// Separate from the others, because it costs more than all of them.
pub(crate) const ORDER_IS_FREE: Invariant = ("order is free", order_is_free);

/// One state, and the moves that the rule returns for it.
pub(crate) struct Case<'a> {
    rule: Rule,
    pool: &'a RollingPool<'a>,
    machines: &'a [RollingMachine],
    moves: Transition,
    /// Marks the machines that are to be removed.
    goes: Vec<bool>,
    zones: Vec<Zone>,
    ready: Count,
    /// Machines that are ready, or old ones that may become ready again.
    supply: Count,
    leaving: Count,
    failed: Count,
    floor: usize,
}

/// Counts of one zone, before and after the moves.
#[derive(Debug, Default, Clone)]
struct Zone {
    target: usize,
    gave_up: bool,
    made: usize,
    live: Count,
    /// Live, and of the desired hash.
    current: Count,
    /// Current, but not ready.
    idle: Count,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    had: usize,
    lost: usize,
}

impl Count {
    fn add(&mut self, counts: bool, goes: bool) {
        self.had += usize::from(counts);
        self.lost += usize::from(counts && goes);
    }

    fn left(self) -> usize {
        self.had - self.lost
    }
}

fn is_live(machine: &RollingMachine) -> bool {
    !is_leaving(machine) && machine.phase != RollingPhase::Failed
}

fn is_leaving(machine: &RollingMachine) -> bool {
    matches!(
        machine.phase,
        RollingPhase::Draining | RollingPhase::Deleting
    )
}

fn is_ready(machine: &RollingMachine) -> bool {
    machine.phase == RollingPhase::Ready
}

fn is_old(machine: &RollingMachine) -> bool {
    machine.hash != NOW
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        rule: Rule,
        pool: &'a RollingPool,
        machines: &'a [RollingMachine],
    ) -> Case<'a> {
        let moves = rule(pool, machines);
        let mut goes = vec![false; machines.len()];
        for index in &moves.remove {
            goes[*index] = true;
        }
        let mut zones = zones(pool, machines);
        for (zone, _) in &moves.create {
            zones[*zone].made += 1;
        }
        let mut case = Case {
            rule,
            pool,
            machines,
            moves,
            goes,
            zones,
            ready: Count::default(),
            supply: Count::default(),
            leaving: Count::default(),
            failed: Count::default(),
            floor: pool.desired().saturating_sub(pool.unavailable),
        };
        case.count();
        case
    }

    fn count(&mut self) {
        for (machine, goes) in self.machines.iter().zip(&self.goes) {
            let (ready, live, old) = (is_ready(machine), is_live(machine), is_old(machine));
            self.ready.add(ready, *goes);
            self.supply.add(ready || live && old, *goes);
            self.leaving.add(is_leaving(machine), *goes);
            self.failed
                .add(machine.phase == RollingPhase::Failed, *goes);
            let zone = &mut self.zones[machine.zone];
            zone.live.add(live, *goes);
            zone.current.add(live && !old, *goes);
            zone.idle.add(live && !old && !ready, *goes);
        }
    }

    pub(crate) fn moves(&self) -> usize {
        self.moves.create.len() + self.moves.remove.len()
    }

    fn most(&self) -> usize {
        self.pool.desired() + self.pool.surge
    }

    /// Returns whether an old machine stays that could be removed. Zones that were given up keep their machines.
    fn keeps_removable_old_machine(&self, ready: bool) -> bool {
        self.machines.iter().zip(&self.goes).any(|(machine, goes)| {
            let stays = !goes && !self.zones[machine.zone].gave_up;
            stays && is_old(machine) && is_live(machine) && is_ready(machine) == ready
        })
    }

    /// Returns whether `holds` accepts the result of each single move.
    fn each_step(&self, look: impl Fn(&[RollingMachine]) -> bool) -> bool {
        let mut after = self.machines.to_vec();
        let born = after.iter().map(|it| it.born + 1).max().unwrap_or(0);
        let made = self.moves.create.iter().all(|&(zone, ordinal)| {
            after.push(RollingMachine {
                hash: NOW,
                zone,
                ordinal,
                phase: RollingPhase::Creating,
                born,
            });
            let likes = look(&after);
            after.pop();
            likes
        });
        made && self.moves.remove.iter().all(|&index| {
            let phase = after[index].phase;
            after[index].phase = match phase {
                RollingPhase::Creating | RollingPhase::Failed => RollingPhase::Deleting,
                _ => RollingPhase::Draining,
            };
            let likes = look(&after);
            after[index].phase = phase;
            likes
        })
    }
}

/// Zones of the pool, and zones beyond those that machines are in.
fn zones(pool: &RollingPool, machines: &[RollingMachine]) -> Vec<Zone> {
    let beyond = machines.iter().map(|it| it.zone + 1).max().unwrap_or(0);
    let zone = |index| {
        let setbacks: Option<&u32> = pool.failures.get(index);
        Zone {
            target: pool.targets.get(index).copied().unwrap_or(0),
            gave_up: setbacks.is_some_and(|it| *it >= pool.failure_limit),
            ..Zone::default()
        }
    };
    (0..beyond.max(pool.targets.len())).map(zone).collect()
}

/// Every machine counts until it is gone: a VM that shuts down still holds memory and disks.
fn total(case: &Case) -> bool {
    case.moves.create.is_empty() || case.machines.len() + case.moves.create.len() <= case.most()
}

/// All removals of a plan together leave enough ready machines.
fn available(case: &Case) -> bool {
    case.ready.lost == 0 || case.ready.left() >= case.floor
}

/// A short network outage during an update must not delete the pool.
fn may_recover(case: &Case) -> bool {
    case.supply.lost == 0 || case.supply.left() >= case.floor
}

/// No machine is removed twice.
fn once(case: &Case) -> bool {
    let different = case.goes.iter().filter(|it| **it).count();
    different == case.moves.remove.len() && case.leaving.lost == 0
}

/// A new name is not in use by any machine, including terminating ones. Names contain only the tag of a hash.
fn names(case: &Case) -> bool {
    let create = &case.moves.create;
    create.iter().enumerate().all(|(index, new)| {
        let same =
            |it: &RollingMachine| it.hash.tag() == NOW.tag() && (it.zone, it.ordinal) == *new;
        !create[..index].contains(new) && !case.machines.iter().any(same)
    })
}

fn keeps_what_is_needed(case: &Case) -> bool {
    let mut zones = case.zones.iter();
    zones.all(|it| it.current.lost == 0 || it.current.left() >= it.target)
}

fn makes_what_is_needed(case: &Case) -> bool {
    let mut zones = case.zones.iter();
    zones.all(|it| it.made == 0 || it.current.had + it.made <= it.target)
}

fn no_new_where_given_up(case: &Case) -> bool {
    case.zones.iter().all(|it| it.made == 0 || !it.gave_up)
}

/// A zone that was given up does not replace old machines, so only surplus ones are removed there.
fn keeps_where_given_up(case: &Case) -> bool {
    let mut zones = case.zones.iter().filter(|it| it.gave_up);
    zones.all(|it| it.live.lost == it.current.lost || it.live.left() >= it.target)
}

/// Surplus machines that are not ready are removed at once.
fn idle_surplus_first(case: &Case) -> bool {
    let mut zones = case.zones.iter();
    zones.all(|it| it.idle.lost == it.idle.had.min(it.current.had.saturating_sub(it.target)))
}

fn unhealthy_first(case: &Case) -> bool {
    case.ready.lost == 0 || !case.keeps_removable_old_machine(false)
}

fn outdated_first(case: &Case) -> bool {
    let lost: usize = case
        .zones
        .iter()
        .map(|it| it.current.lost - it.idle.lost)
        .sum();
    lost == 0 || !case.keeps_removable_old_machine(true)
}

fn failed_machines_are_removed(case: &Case) -> bool {
    case.failed.left() == 0
}

/// Only bounds hold moves back, since a machine that is not ready now may never be.
fn does_all_it_may(case: &Case) -> bool {
    let spare = case.supply.left() > case.floor;
    let spare_ready = spare && case.ready.left() > case.floor;
    let lacks = |it: &Zone| !it.gave_up && it.current.had + it.made < it.target;
    let room = case.machines.len() + case.moves.create.len() < case.most();
    !(spare && case.keeps_removable_old_machine(false)
        || spare_ready && case.keeps_removable_old_machine(true)
        || room && case.zones.iter().any(lacks))
}

/// The distance to the goal decreases with every move and every good external step; otherwise an update might not end.
fn makes_progress(case: &Case) -> bool {
    let before = distance(case.pool, case.machines);
    case.each_step(|after| distance(case.pool, after) < before)
}

fn distance(pool: &RollingPool, machines: &[RollingMachine]) -> usize {
    let zones = pool.targets.iter().enumerate();
    let missing: usize = zones
        .map(|(zone, target)| {
            let is_current = |it: &&RollingMachine| it.zone == zone && !is_old(it) && is_live(it);
            target.saturating_sub(machines.iter().filter(is_current).count())
        })
        .sum();
    let weight = |machine: &RollingMachine| match machine.phase {
        RollingPhase::Creating | RollingPhase::NotReady => 5,
        RollingPhase::Ready | RollingPhase::Failed => 4,
        RollingPhase::Draining => 2,
        RollingPhase::Deleting => 1,
    };
    6 * missing + machines.iter().map(weight).sum::<usize>()
}

/// There are no moves left, and nothing is in progress, only if the pool matches its targets.
fn ends_at_the_goal(case: &Case) -> bool {
    let moves = |it: &RollingMachine| is_leaving(it) || is_live(it) && !is_ready(it);
    if case.moves() > 0 || case.machines.iter().any(moves) {
        return true;
    }
    let old_is_live = |it: &Zone| it.live.had > it.current.had;
    // If a zone was given up, other zones may keep surplus machines, which replace the missing ones.
    let stuck = case.zones.iter().any(|it| it.gave_up);
    case.zones.iter().all(|zone| match stuck {
        true => zone.gave_up || zone.current.had >= zone.target,
        false => zone.current.had == zone.target && !old_is_live(zone),
    }) && case.failed.had == 0
}

/// After any single move all others are still due, with the same names: a batch may be interrupted anywhere.
fn order_is_free(case: &Case) -> bool {
    case.each_step(|after| {
        let again = (case.rule)(case.pool, after);
        let creates = case.moves.create.iter();
        let creates = creates.filter(|it| again.create.contains(it)).count();
        let removes = case.moves.remove.iter();
        let removes = removes.filter(|it| again.remove.contains(it)).count();
        creates + removes == case.moves() - 1
    })
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.pool)?;
        for it in self.machines {
            let hash = if is_old(it) { "old" } else { "new" };
            write!(f, "    {hash} {}/{} {:?};", it.zone, it.ordinal, it.phase)?;
        }
        write!(f, "\n    -> {:?}", self.moves)
    }
}
