use super::World;
use crate::plan::check::mutations;

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search prints what it covered")]
fn check(world: World) {
    let found = world.search();
    let World {
        targets,
        edited,
        surge,
        unavailable,
        faults,
        ..
    } = world;
    println!(
        "{targets:?}, then {edited:?}, surge {surge}, unavailable {unavailable}, {faults} faults: {found}"
    );
    found.broken.assert_none();
}

#[test]
fn every_bound_holds_behind_a_store_that_lags() {
    check(World::new(&[2, 1]));
    check(World {
        faults: 1,
        ..World::new(&[2, 2])
    });
}

#[test]
fn a_bound_breaks_when_requests_in_flight_are_ignored() {
    let world = World {
        sees_requests: false,
        faults: 1,
        ..World::new(&[2, 1])
    };
    let broken = world.search().broken;
    broken.assert_has("total");
    broken.assert_has("available");
}

#[test]
fn a_bound_breaks_if_readiness_is_not_rechecked() {
    let world = World {
        rechecks_readiness: false,
        ..World::new(&[2, 1])
    };
    world
        .search()
        .broken
        .assert_has("available, as it came back");
}

#[test]
fn a_bound_breaks_when_the_first_list_lags() {
    let world = World {
        consistent_list: false,
        faults: 1,
        ..World::new(&[2, 1])
    };
    world.search().broken.assert_has("total");
}

#[test]
fn an_update_that_leaves_failed_machines_is_found_not_to_end() {
    let world = World {
        rule: mutations::failed_machines_stay,
        ..World::new(&[1, 1])
    };
    world.search().broken.assert_has("ends at the goal");
}

#[test]
fn an_update_that_makes_what_it_removes_is_found_to_go_in_circles() {
    let world = World {
        rule: mutations::one_too_many_is_created,
        ..World::new(&[1, 1])
    };
    world.search().broken.assert_has("no cycles");
}

#[test]
#[ignore = "second tier: an exhaustive search, which takes minutes"]
fn exhaustive_behind_a_store_that_lags() {
    check(World::new(&[2, 2]));
    check(World::new(&[2, 1, 1]));
    check(World::new(&[2, 2, 2]));
    check(World {
        edited: &[3, 2],
        surge: 2,
        ..World::new(&[2, 1])
    });
}
