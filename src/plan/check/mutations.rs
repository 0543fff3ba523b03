//! Deliberately broken rolling updates: each must be detected, and each invariant must detect one.

use super::invariants::{INVARIANTS, ORDER_IS_FREE};
use super::states::Search;
use super::{NOW, Rule};
use crate::plan::pool::rolling_update::{
    RollingMachine, RollingPhase, RollingPool, Transition, roll,
};
use crate::state::hash::Hash;

/// Each with an invariant that must detect it; others may detect it too.
const MUTANTS: [(&str, Rule); 20] = [
    ("total", leaving_machines_are_not_counted),
    ("total", failed_machines_are_not_counted),
    ("total", surge_is_for_every_plan),
    ("available", live_machines_count_as_ready),
    ("available", surplus_is_removed_without_a_budget),
    ("may recover", idle_machines_are_removed_without_a_budget),
    ("once", leaving_machines_are_removed_again),
    ("names", leaving_machines_free_their_names),
    ("keeps what is needed", needed_machine_is_removed),
    ("makes what is needed", one_too_many_is_created),
    ("makes progress", one_too_many_is_created),
    ("no new where given up", creations_ignore_given_up_zones),
    ("keeps where given up", removals_ignore_given_up_zones),
    ("idle surplus first", idle_surplus_stays),
    ("unhealthy first", serving_old_machines_are_removed_first),
    ("outdated first", new_machines_are_removed_before_old_ones),
    ("failed are removed", failed_machines_stay),
    ("does all it may", one_fewer_may_be_unavailable),
    ("ends at the goal", surplus_stays),
    ("order is free", names_count_machines),
];

#[test]
fn every_broken_rule_is_detected() {
    for (name, rule) in MUTANTS {
        let search = Search {
            rule,
            setbacks: name.ends_with("given up"),
            order: name == ORDER_IS_FREE.0,
            until: Some(name),
            ..Search::SMALL
        };
        search.run().broken.assert_has(name);
    }
}

#[test]
fn every_invariant_detects_a_broken_rule() {
    for (name, _) in INVARIANTS.iter().chain([&ORDER_IS_FREE]) {
        assert!(MUTANTS.iter().any(|it| it.0 == *name), "{name}");
    }
}

/// Applies the rule to some of the machines only.
fn blind(
    pool: &RollingPool,
    machines: &[RollingMachine],
    sees: fn(&RollingMachine) -> bool,
) -> Transition {
    let seen: Vec<usize> = (0..machines.len())
        .filter(|it| sees(&machines[*it]))
        .collect();
    let shown: Vec<RollingMachine> = seen.iter().map(|it| machines[*it]).collect();
    let mut moves = roll(pool, &shown);
    for index in &mut moves.remove {
        *index = seen[*index];
    }
    moves
}

/// Applies the rule to machines with changed properties.
fn mistaken(
    pool: &RollingPool,
    machines: &[RollingMachine],
    changes: fn(&mut RollingMachine),
) -> Transition {
    let mut machines = machines.to_vec();
    machines.iter_mut().for_each(changes);
    roll(pool, &machines)
}

/// Removes further machines, none of them twice.
fn also(
    mut moves: Transition,
    machines: &[RollingMachine],
    goes: impl Fn(&RollingMachine) -> bool,
) -> Transition {
    let more = (0..machines.len()).filter(|it| goes(&machines[*it]));
    let more: Vec<usize> = more.filter(|it| !moves.remove.contains(it)).collect();
    moves.remove.extend(more);
    moves
}

fn is_leaving(machine: &RollingMachine) -> bool {
    matches!(
        machine.phase,
        RollingPhase::Draining | RollingPhase::Deleting
    )
}

fn is_idle(machine: &RollingMachine) -> bool {
    matches!(
        machine.phase,
        RollingPhase::Creating | RollingPhase::NotReady
    )
}

fn is_ready(machine: &RollingMachine) -> bool {
    machine.phase == RollingPhase::Ready
}

fn is_old(machine: &RollingMachine) -> bool {
    machine.hash != NOW
}

/// Number of ready machines of the desired hash in one zone.
fn serving(machines: &[RollingMachine], zone: usize) -> usize {
    let serves = |it: &&RollingMachine| !is_old(it) && is_ready(it) && it.zone == zone;
    machines.iter().filter(serves).count()
}

fn target(pool: &RollingPool, zone: usize) -> usize {
    pool.targets.get(zone).copied().unwrap_or(0)
}

fn floor(pool: &RollingPool) -> usize {
    pool.desired() - pool.unavailable
}

fn leaving_machines_are_not_counted(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    blind(pool, machines, |it| !is_leaving(it))
}

fn failed_machines_are_not_counted(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let moves = blind(pool, machines, |it| it.phase != RollingPhase::Failed);
    also(moves, machines, |it| it.phase == RollingPhase::Failed)
}

fn surge_is_for_every_plan(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    blind(pool, machines, |it| it.phase != RollingPhase::Creating)
}

fn live_machines_count_as_ready(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    mistaken(pool, machines, |machine| {
        if is_idle(machine) {
            machine.phase = RollingPhase::Ready;
        }
    })
}

fn surplus_is_removed_without_a_budget(
    pool: &RollingPool,
    machines: &[RollingMachine],
) -> Transition {
    also(roll(pool, machines), machines, |machine| {
        let spare = serving(machines, machine.zone) > target(pool, machine.zone);
        spare && !is_old(machine) && is_ready(machine)
    })
}

fn idle_machines_are_removed_without_a_budget(
    pool: &RollingPool,
    machines: &[RollingMachine],
) -> Transition {
    let goes = |it: &RollingMachine| is_old(it) && is_idle(it);
    also(roll(pool, machines), machines, goes)
}

fn leaving_machines_are_removed_again(
    pool: &RollingPool,
    machines: &[RollingMachine],
) -> Transition {
    also(roll(pool, machines), machines, is_leaving)
}

fn leaving_machines_free_their_names(
    pool: &RollingPool,
    machines: &[RollingMachine],
) -> Transition {
    mistaken(pool, machines, |machine| {
        if is_leaving(machine) {
            machine.hash = Hash(0);
        }
    })
}

fn needed_machine_is_removed(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let spare = machines.iter().filter(|it| is_ready(it)).count() > floor(pool);
    let is_needed = |it: &RollingMachine| spare && !is_old(it) && is_ready(it);
    also(roll(pool, machines), machines, is_needed)
}

pub(crate) fn one_too_many_is_created(
    pool: &RollingPool,
    machines: &[RollingMachine],
) -> Transition {
    let mut moves = roll(pool, machines);
    if machines.len() + moves.create.len() < pool.desired() + pool.surge {
        moves.create.push((0, 50));
    }
    moves
}

fn creations_ignore_given_up_zones(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    Transition {
        create: patient(pool, machines).create,
        ..roll(pool, machines)
    }
}

fn removals_ignore_given_up_zones(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    Transition {
        remove: patient(pool, machines).remove,
        ..roll(pool, machines)
    }
}

fn patient(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let pool = RollingPool {
        failure_limit: u32::MAX,
        ..*pool
    };
    roll(&pool, machines)
}

fn idle_surplus_stays(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let mut moves = roll(pool, machines);
    moves
        .remove
        .retain(|it| is_old(&machines[*it]) || !is_idle(&machines[*it]));
    moves
}

fn serving_old_machines_are_removed_first(
    pool: &RollingPool,
    machines: &[RollingMachine],
) -> Transition {
    let mut moves = roll(pool, machines);
    let is_idle_old = |it: &usize| is_old(&machines[*it]) && is_idle(&machines[*it]);
    let ready = machines.iter().filter(|it| is_ready(it)).count();
    let serving = (0..machines.len()).find(|it| is_old(&machines[*it]) && is_ready(&machines[*it]));
    if ready > floor(pool)
        && let Some(idle) = moves.remove.iter().position(is_idle_old)
        && let Some(serving) = serving.filter(|it| !moves.remove.contains(it))
    {
        moves.remove[idle] = serving;
    }
    moves
}

fn new_machines_are_removed_before_old_ones(
    pool: &RollingPool,
    machines: &[RollingMachine],
) -> Transition {
    let mut moves = roll(pool, machines);
    let is_spare = |index: &usize| {
        let machine = &machines[*index];
        let spare = serving(machines, machine.zone) > target(pool, machine.zone);
        spare && !is_old(machine) && is_ready(machine)
    };
    let old = |it: &usize| is_old(&machines[*it]) && is_ready(&machines[*it]);
    let spare = (0..machines.len()).find(|it| is_spare(it) && !moves.remove.contains(it));
    if let Some(spare) = spare
        && let Some(old) = moves.remove.iter_mut().find(|it| old(it))
    {
        *old = spare;
    }
    moves
}

pub(crate) fn failed_machines_stay(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let mut moves = roll(pool, machines);
    moves
        .remove
        .retain(|it| machines[*it].phase != RollingPhase::Failed);
    moves
}

fn one_fewer_may_be_unavailable(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let pool = RollingPool {
        unavailable: pool.unavailable.saturating_sub(1),
        ..*pool
    };
    roll(&pool, machines)
}

fn surplus_stays(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let mut moves = roll(pool, machines);
    moves.remove.retain(|it| is_old(&machines[*it]));
    moves
}

/// Derives names from the number of machines, so they change when another machine is created first.
fn names_count_machines(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let mut moves = roll(pool, machines);
    let all = u32::try_from(machines.len()).expect("a small pool");
    for (create, number) in moves.create.iter_mut().zip(50 + all..) {
        create.1 = number;
    }
    moves
}
