//! The rolling update as a person would tell it.

use super::NOW;
use crate::plan::pool::rolling_update::{Machine, Phase, Pool, roll};
use crate::state::hash::Hash;

/// What may be done with such machines, oldest first, each as `new zone/ordinal Phase`.
fn check(targets: &[usize], (surge, unavailable): (usize, usize), machines: &[&str]) -> String {
    let pool = Pool {
        hash: NOW,
        targets,
        surge,
        unavailable,
        setbacks: &[],
        patience: 1,
        haunted: &[],
    };
    let parsed: Vec<Machine> = (0..).zip(machines).map(machine).collect();
    let moves = roll(&pool, &parsed);
    let create = moves.create.iter();
    let create = create.map(|(zone, ordinal)| format!("create {zone}/{ordinal}"));
    let remove = moves.remove.iter();
    let remove = remove.map(|it| format!("remove {}", machines[*it]));
    create.chain(remove).collect::<Vec<_>>().join(", ")
}

fn machine((born, text): (u64, &&str)) -> Machine {
    let [hash, name, phase] = text.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{text} is no machine");
    };
    let (zone, ordinal) = name.split_once('/').expect("zone/ordinal");
    let phases = [
        Phase::Creating,
        Phase::Ready,
        Phase::NotReady,
        Phase::Failed,
        Phase::Draining,
        Phase::Deleting,
    ];
    let phase = phases.into_iter().find(|it| format!("{it:?}") == phase);
    Machine {
        hash: if hash == "new" { NOW } else { Hash(3 << 44) },
        zone: zone.parse().expect("a zone"),
        ordinal: ordinal.parse().expect("an ordinal"),
        phase: phase.expect("a phase"),
        born,
    }
}

#[test]
fn a_new_pool_is_made_at_once() {
    let moves = check(&[2, 1], (1, 0), &[]);
    assert_eq!(moves, "create 0/0, create 0/1, create 1/0");
}

#[test]
fn with_a_surge_of_one_a_new_machine_serves_before_an_old_one_goes() {
    let moves = check(&[2], (1, 0), &["old 0/0 Ready", "old 0/1 Ready"]);
    assert_eq!(moves, "create 0/0");
    let machines = ["old 0/0 Ready", "old 0/1 Ready", "new 0/0 Creating"];
    assert_eq!(check(&[2], (1, 0), &machines), "");
    let machines = ["old 0/0 Ready", "old 0/1 Ready", "new 0/0 Ready"];
    assert_eq!(check(&[2], (1, 0), &machines), "remove old 0/0 Ready");
}

#[test]
fn a_machine_that_leaves_counts_until_it_is_gone() {
    let machines = ["old 0/0 Deleting", "old 0/1 Ready", "new 0/0 Ready"];
    assert_eq!(check(&[2], (1, 0), &machines), "");
    let machines = ["old 0/1 Ready", "new 0/0 Ready"];
    assert_eq!(check(&[2], (1, 0), &machines), "create 0/1");
}

#[test]
fn a_new_machine_never_takes_a_name_whose_disk_is_still_there() {
    let pool = Pool {
        hash: NOW,
        targets: &[2],
        surge: 1,
        unavailable: 0,
        setbacks: &[],
        patience: 1,
        haunted: &[(0, 0), (1, 1)],
    };
    assert_eq!(roll(&pool, &[]).create, [(0, 1), (0, 2)]);
}

#[test]
fn a_new_machine_never_takes_the_name_of_one_that_leaves() {
    let machines = ["new 0/0 Deleting", "new 0/2 Ready"];
    assert_eq!(check(&[2], (1, 0), &machines), "create 0/1");
}

#[test]
fn without_a_surge_an_old_one_goes_first() {
    let machines = ["old 0/0 Ready", "old 0/1 Ready"];
    assert_eq!(check(&[2], (0, 1), &machines), "remove old 0/0 Ready");
}

#[test]
fn a_network_hiccup_does_not_delete_the_pool() {
    let machines = ["old 0/0 NotReady", "old 0/1 NotReady", "old 0/2 NotReady"];
    let moves = check(&[3], (0, 1), &machines);
    assert_eq!(moves, "remove old 0/0 NotReady");
}

#[test]
fn who_never_served_and_is_too_much_goes_at_once() {
    let machines = ["new 0/0 Ready", "new 0/1 Creating"];
    assert_eq!(check(&[1], (1, 0), &machines), "remove new 0/1 Creating");
}

#[test]
fn an_edit_taken_back_keeps_what_is_left_of_the_first() {
    let machines = ["new 0/0 Ready", "new 0/1 Ready", "old 0/0 Creating"];
    assert_eq!(check(&[2], (1, 0), &machines), "remove old 0/0 Creating");
}

#[test]
fn a_zone_appended_moves_machines_under_the_same_bounds() {
    let moves = check(&[1, 1], (1, 0), &["new 0/0 Ready", "new 0/1 Ready"]);
    assert_eq!(moves, "create 1/0");
    let machines = ["new 0/0 Ready", "new 0/1 Ready", "new 1/0 Ready"];
    assert_eq!(check(&[1, 1], (1, 0), &machines), "remove new 0/1 Ready");
}

#[test]
fn of_a_pool_that_is_gone_nothing_stays() {
    let machines = ["old 0/0 Ready", "old 1/0 Failed", "old 1/1 Draining"];
    let moves = check(&[], (0, 0), &machines);
    assert_eq!(moves, "remove old 1/0 Failed, remove old 0/0 Ready");
}
