//! What must hold in every state of a pool, and for every move that is due in it.

use super::{NOW, Rule};
use crate::plan::pool::rolling_update::{Machine, Moves, Phase, Pool};
use std::fmt;

type Invariant = (&'static str, fn(&Case) -> bool);

pub(crate) const INVARIANTS: [Invariant; 16] = [
    ("total", total),
    ("available", available),
    ("may come back", may_come_back),
    ("once", once),
    ("names", names),
    ("keeps what is needed", keeps_what_is_needed),
    ("makes what is needed", makes_what_is_needed),
    ("no new where given up", no_new_where_given_up),
    ("keeps where given up", keeps_where_given_up),
    ("idle surplus first", idle_surplus_first),
    ("unhealthy first", unhealthy_first),
    ("outdated first", outdated_first),
    ("failed goes", failed_goes),
    ("as much as may", as_much_as_may),
    ("gets nearer", gets_nearer),
    ("ends at the goal", ends_at_the_goal),
];

/// By itself, for it costs more than all others.
pub(crate) const ORDER_IS_FREE: Invariant = ("order is free", order_is_free);

/// One state, and what the rule makes of it.
pub(crate) struct Case<'a> {
    rule: Rule,
    pool: &'a Pool<'a>,
    machines: &'a [Machine],
    moves: Moves,
    /// For each machine, whether it is to go.
    goes: Vec<bool>,
    zones: Vec<Zone>,
    ready: Count,
    /// Serve, or are old ones that may serve again.
    supply: Count,
    leaving: Count,
    failed: Count,
    floor: usize,
}

/// What one zone has, and loses by the moves.
#[derive(Debug, Default, Clone)]
struct Zone {
    target: usize,
    gave_up: bool,
    made: usize,
    live: Count,
    /// Live, and of the wanted hash.
    current: Count,
    /// Current, and not ready.
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

fn is_live(machine: &Machine) -> bool {
    !is_leaving(machine) && machine.phase != Phase::Failed
}

fn is_leaving(machine: &Machine) -> bool {
    matches!(machine.phase, Phase::Draining | Phase::Deleting)
}

fn is_ready(machine: &Machine) -> bool {
    machine.phase == Phase::Ready
}

fn is_old(machine: &Machine) -> bool {
    machine.hash != NOW
}

impl<'a> Case<'a> {
    pub(crate) fn new(rule: Rule, pool: &'a Pool, machines: &'a [Machine]) -> Case<'a> {
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
            self.failed.add(machine.phase == Phase::Failed, *goes);
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

    /// One stays that could be taken: zones that were given up keep what they have.
    fn old_one_stays(&self, ready: bool) -> bool {
        self.machines.iter().zip(&self.goes).any(|(it, goes)| {
            let stays = !goes && !self.zones[it.zone].gave_up;
            stays && is_old(it) && is_live(it) && is_ready(it) == ready
        })
    }

    /// Whether `look` likes what each single move leads to.
    fn each_step(&self, look: impl Fn(&[Machine]) -> bool) -> bool {
        let mut after = self.machines.to_vec();
        let born = after.iter().map(|it| it.born + 1).max().unwrap_or(0);
        let made = self.moves.create.iter().all(|&(zone, ordinal)| {
            after.push(Machine {
                hash: NOW,
                zone,
                ordinal,
                phase: Phase::Creating,
                born,
            });
            let likes = look(&after);
            after.pop();
            likes
        });
        made && self.moves.remove.iter().all(|&index| {
            let phase = after[index].phase;
            after[index].phase = match phase {
                Phase::Creating | Phase::Failed => Phase::Deleting,
                _ => Phase::Draining,
            };
            let likes = look(&after);
            after[index].phase = phase;
            likes
        })
    }
}

/// Zones of the pool, and those beyond that machines are in.
fn zones(pool: &Pool, machines: &[Machine]) -> Vec<Zone> {
    let beyond = machines.iter().map(|it| it.zone + 1).max().unwrap_or(0);
    let zone = |index| {
        let setbacks: Option<&u32> = pool.setbacks.get(index);
        Zone {
            target: pool.targets.get(index).copied().unwrap_or(0),
            gave_up: setbacks.is_some_and(|it| *it >= pool.patience),
            ..Zone::default()
        }
    };
    (0..beyond.max(pool.targets.len())).map(zone).collect()
}

/// Every machine counts until it is gone: a guest that shuts down still holds memory and disks.
fn total(case: &Case) -> bool {
    case.moves.create.is_empty() || case.machines.len() + case.moves.create.len() <= case.most()
}

/// All removals of a plan together leave enough that serve.
fn available(case: &Case) -> bool {
    case.ready.lost == 0 || case.ready.left() >= case.floor
}

/// A network hiccup in the middle of an update must not delete the pool.
fn may_come_back(case: &Case) -> bool {
    case.supply.lost == 0 || case.supply.left() >= case.floor
}

/// Nothing is removed twice.
fn once(case: &Case) -> bool {
    let different = case.goes.iter().filter(|it| **it).count();
    different == case.moves.remove.len() && case.leaving.lost == 0
}

/// A new name is no other machine's, leaving or not. Names show no more of a hash than its tag.
fn names(case: &Case) -> bool {
    let create = &case.moves.create;
    create.iter().enumerate().all(|(index, new)| {
        let same = |it: &Machine| it.hash.tag() == NOW.tag() && (it.zone, it.ordinal) == *new;
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

/// Nothing would take the place of an old one there, so only what is too much goes.
fn keeps_where_given_up(case: &Case) -> bool {
    let mut zones = case.zones.iter().filter(|it| it.gave_up);
    zones.all(|it| it.live.lost == it.current.lost || it.live.left() >= it.target)
}

/// What is too much and does not serve goes at once: nothing was counted on it.
fn idle_surplus_first(case: &Case) -> bool {
    let mut zones = case.zones.iter();
    zones.all(|it| it.idle.lost == it.idle.had.min(it.current.had.saturating_sub(it.target)))
}

fn unhealthy_first(case: &Case) -> bool {
    case.ready.lost == 0 || !case.old_one_stays(false)
}

fn outdated_first(case: &Case) -> bool {
    let lost: usize = case
        .zones
        .iter()
        .map(|it| it.current.lost - it.idle.lost)
        .sum();
    lost == 0 || !case.old_one_stays(true)
}

fn failed_goes(case: &Case) -> bool {
    case.failed.left() == 0
}

/// Nothing is held back without a bound that says so: who is not ready now may never be.
fn as_much_as_may(case: &Case) -> bool {
    let spare = case.supply.left() > case.floor;
    let spare_ready = spare && case.ready.left() > case.floor;
    let lacks = |it: &Zone| !it.gave_up && it.current.had + it.made < it.target;
    let room = case.machines.len() + case.moves.create.len() < case.most();
    !(spare && case.old_one_stays(false)
        || spare_ready && case.old_one_stays(true)
        || room && case.zones.iter().any(lacks))
}

/// Less after every move, and after every good step of the world, or the update might not end.
fn gets_nearer(case: &Case) -> bool {
    let before = distance(case.pool, case.machines);
    case.each_step(|after| distance(case.pool, after) < before)
}

fn distance(pool: &Pool, machines: &[Machine]) -> usize {
    let zones = pool.targets.iter().enumerate();
    let missing: usize = zones
        .map(|(zone, target)| {
            let is_current = |it: &&Machine| it.zone == zone && !is_old(it) && is_live(it);
            target.saturating_sub(machines.iter().filter(is_current).count())
        })
        .sum();
    let weight = |it: &Machine| match it.phase {
        Phase::Creating | Phase::NotReady => 5,
        Phase::Ready | Phase::Failed => 4,
        Phase::Draining => 2,
        Phase::Deleting => 1,
    };
    6 * missing + machines.iter().map(weight).sum::<usize>()
}

/// No move, and a world at rest, only where the pool is as it should be.
fn ends_at_the_goal(case: &Case) -> bool {
    let moves = |it: &Machine| is_leaving(it) || is_live(it) && !is_ready(it);
    if case.moves() > 0 || case.machines.iter().any(moves) {
        return true;
    }
    let old_is_live = |it: &Zone| it.live.had > it.current.had;
    // Beside a zone that was given up, others may keep what is too much: it stands in for what is missing.
    let stuck = case.zones.iter().any(|it| it.gave_up);
    case.zones.iter().all(|it| match stuck {
        true => it.gave_up || it.current.had >= it.target,
        false => it.current.had == it.target && !old_is_live(it),
    }) && case.failed.had == 0
}

/// After any one move all others are still due, under the same names: a batch may be cut anywhere.
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
