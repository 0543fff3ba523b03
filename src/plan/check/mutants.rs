//! Rolling updates that are wrong on purpose: each must be noticed, and each invariant must notice one.

use super::invariants::{INVARIANTS, ORDER_IS_FREE};
use super::states::Search;
use super::{NOW, Rule};
use crate::plan::pool::rolling_update::{Machine, Moves, Phase, Pool, roll};
use crate::state::hash::Hash;

/// Each with an invariant that must notice it; others may too.
const MUTANTS: [(&str, Rule); 20] = [
    ("total", leaving_ones_are_not_counted),
    ("total", failed_ones_are_not_counted),
    ("total", surge_is_for_every_plan),
    ("available", live_ones_count_as_ready),
    ("available", surplus_goes_without_a_budget),
    ("may come back", idle_ones_go_without_a_budget),
    ("once", leaving_ones_go_again),
    ("names", leaving_ones_free_their_names),
    ("keeps what is needed", one_that_is_needed_goes),
    ("makes what is needed", one_too_many_is_made),
    ("gets nearer", one_too_many_is_made),
    ("no new where given up", no_zone_is_given_up_by_makers),
    ("keeps where given up", no_zone_is_given_up_by_removers),
    ("idle surplus first", idle_surplus_stays),
    ("unhealthy first", serving_old_ones_go_first),
    ("outdated first", new_ones_go_before_old_ones),
    ("failed goes", failed_ones_stay),
    ("as much as may", one_fewer_may_be_unavailable),
    ("ends at the goal", surplus_stays),
    ("order is free", names_count_machines),
];

#[test]
fn every_rule_that_is_wrong_on_purpose_is_noticed() {
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
fn every_invariant_notices_a_rule_that_is_wrong() {
    for (name, _) in INVARIANTS.iter().chain([&ORDER_IS_FREE]) {
        assert!(MUTANTS.iter().any(|it| it.0 == *name), "{name}");
    }
}

/// What the rule does when it does not see some of the machines.
fn blind(pool: &Pool, machines: &[Machine], sees: fn(&Machine) -> bool) -> Moves {
    let seen: Vec<usize> = (0..machines.len())
        .filter(|it| sees(&machines[*it]))
        .collect();
    let shown: Vec<Machine> = seen.iter().map(|it| machines[*it]).collect();
    let mut moves = roll(pool, &shown);
    for index in &mut moves.remove {
        *index = seen[*index];
    }
    moves
}

/// What the rule does when some machines look otherwise.
fn mistaken(pool: &Pool, machines: &[Machine], changes: fn(&mut Machine)) -> Moves {
    let mut machines = machines.to_vec();
    machines.iter_mut().for_each(changes);
    roll(pool, &machines)
}

/// Also takes those, and none twice.
fn also(mut moves: Moves, machines: &[Machine], goes: impl Fn(&Machine) -> bool) -> Moves {
    let more = (0..machines.len()).filter(|it| goes(&machines[*it]));
    let more: Vec<usize> = more.filter(|it| !moves.remove.contains(it)).collect();
    moves.remove.extend(more);
    moves
}

fn is_leaving(machine: &Machine) -> bool {
    matches!(machine.phase, Phase::Draining | Phase::Deleting)
}

fn is_idle(machine: &Machine) -> bool {
    matches!(machine.phase, Phase::Creating | Phase::NotReady)
}

fn is_ready(machine: &Machine) -> bool {
    machine.phase == Phase::Ready
}

fn is_old(machine: &Machine) -> bool {
    machine.hash != NOW
}

/// Machines of the wanted hash that serve, in one zone.
fn serving(machines: &[Machine], zone: usize) -> usize {
    let serves = |it: &&Machine| !is_old(it) && is_ready(it) && it.zone == zone;
    machines.iter().filter(serves).count()
}

fn target(pool: &Pool, zone: usize) -> usize {
    pool.targets.get(zone).copied().unwrap_or(0)
}

fn floor(pool: &Pool) -> usize {
    pool.desired() - pool.unavailable
}

fn leaving_ones_are_not_counted(pool: &Pool, machines: &[Machine]) -> Moves {
    blind(pool, machines, |it| !is_leaving(it))
}

fn failed_ones_are_not_counted(pool: &Pool, machines: &[Machine]) -> Moves {
    let moves = blind(pool, machines, |it| it.phase != Phase::Failed);
    also(moves, machines, |it| it.phase == Phase::Failed)
}

fn surge_is_for_every_plan(pool: &Pool, machines: &[Machine]) -> Moves {
    blind(pool, machines, |it| it.phase != Phase::Creating)
}

fn live_ones_count_as_ready(pool: &Pool, machines: &[Machine]) -> Moves {
    mistaken(pool, machines, |it| {
        if is_idle(it) {
            it.phase = Phase::Ready;
        }
    })
}

fn surplus_goes_without_a_budget(pool: &Pool, machines: &[Machine]) -> Moves {
    also(roll(pool, machines), machines, |it| {
        let spare = serving(machines, it.zone) > target(pool, it.zone);
        spare && !is_old(it) && is_ready(it)
    })
}

fn idle_ones_go_without_a_budget(pool: &Pool, machines: &[Machine]) -> Moves {
    let goes = |it: &Machine| is_old(it) && is_idle(it);
    also(roll(pool, machines), machines, goes)
}

fn leaving_ones_go_again(pool: &Pool, machines: &[Machine]) -> Moves {
    also(roll(pool, machines), machines, is_leaving)
}

fn leaving_ones_free_their_names(pool: &Pool, machines: &[Machine]) -> Moves {
    mistaken(pool, machines, |it| {
        if is_leaving(it) {
            it.hash = Hash(0);
        }
    })
}

fn one_that_is_needed_goes(pool: &Pool, machines: &[Machine]) -> Moves {
    let spare = machines.iter().filter(|it| is_ready(it)).count() > floor(pool);
    let is_needed = |it: &Machine| spare && !is_old(it) && is_ready(it);
    also(roll(pool, machines), machines, is_needed)
}

pub(crate) fn one_too_many_is_made(pool: &Pool, machines: &[Machine]) -> Moves {
    let mut moves = roll(pool, machines);
    if machines.len() + moves.create.len() < pool.desired() + pool.surge {
        moves.create.push((0, 50));
    }
    moves
}

fn no_zone_is_given_up_by_makers(pool: &Pool, machines: &[Machine]) -> Moves {
    Moves {
        create: patient(pool, machines).create,
        ..roll(pool, machines)
    }
}

fn no_zone_is_given_up_by_removers(pool: &Pool, machines: &[Machine]) -> Moves {
    Moves {
        remove: patient(pool, machines).remove,
        ..roll(pool, machines)
    }
}

fn patient(pool: &Pool, machines: &[Machine]) -> Moves {
    let pool = Pool {
        patience: u32::MAX,
        ..*pool
    };
    roll(&pool, machines)
}

fn idle_surplus_stays(pool: &Pool, machines: &[Machine]) -> Moves {
    let mut moves = roll(pool, machines);
    moves
        .remove
        .retain(|it| is_old(&machines[*it]) || !is_idle(&machines[*it]));
    moves
}

fn serving_old_ones_go_first(pool: &Pool, machines: &[Machine]) -> Moves {
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

fn new_ones_go_before_old_ones(pool: &Pool, machines: &[Machine]) -> Moves {
    let mut moves = roll(pool, machines);
    let is_spare = |it: &usize| {
        let machine = &machines[*it];
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

pub(crate) fn failed_ones_stay(pool: &Pool, machines: &[Machine]) -> Moves {
    let mut moves = roll(pool, machines);
    moves
        .remove
        .retain(|it| machines[*it].phase != Phase::Failed);
    moves
}

fn one_fewer_may_be_unavailable(pool: &Pool, machines: &[Machine]) -> Moves {
    let pool = Pool {
        unavailable: pool.unavailable.saturating_sub(1),
        ..*pool
    };
    roll(&pool, machines)
}

fn surplus_stays(pool: &Pool, machines: &[Machine]) -> Moves {
    let mut moves = roll(pool, machines);
    moves.remove.retain(|it| is_old(&machines[*it]));
    moves
}

/// The first version of a name that comes to mind: it changes when another machine comes first.
fn names_count_machines(pool: &Pool, machines: &[Machine]) -> Moves {
    let mut moves = roll(pool, machines);
    let all = u32::try_from(machines.len()).expect("a small pool");
    for (create, number) in moves.create.iter_mut().zip(50 + all..) {
        create.1 = number;
    }
    moves
}
