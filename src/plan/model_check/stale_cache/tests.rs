use super::CacheModel;
use crate::plan::model_check::mutations;

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search prints what it covered")]
fn check(model: CacheModel) {
    let result = model.search();
    let CacheModel {
        targets,
        edited,
        surge,
        unavailable,
        faults,
        ..
    } = model;
    println!(
        "{targets:?}, then {edited:?}, surge {surge}, unavailable {unavailable}, {faults} faults: {result}"
    );
    result.violations.assert_none();
}

#[test]
fn every_bound_holds_with_a_stale_cache() {
    check(CacheModel::new(&[2, 1]));
    check(CacheModel {
        faults: 1,
        ..CacheModel::new(&[2, 2])
    });
}

#[test]
fn a_bound_breaks_if_the_plan_ignores_requests_in_flight() {
    let model = CacheModel {
        tracks_sent: false,
        faults: 1,
        ..CacheModel::new(&[2, 1])
    };
    let violations = model.search().violations;
    violations.assert_has("total");
    violations.assert_has("available");
}

#[test]
fn a_bound_breaks_if_readiness_is_not_checked_again() {
    let model = CacheModel {
        rechecks_readiness: false,
        ..CacheModel::new(&[2, 1])
    };
    model
        .search()
        .violations
        .assert_has("available after recovery");
}

#[test]
fn a_bound_breaks_if_the_first_list_is_stale() {
    let model = CacheModel {
        consistent_list: false,
        faults: 1,
        ..CacheModel::new(&[2, 1])
    };
    model.search().violations.assert_has("total");
}

#[test]
fn an_update_that_keeps_failed_machines_is_detected() {
    let model = CacheModel {
        rule: mutations::failed_machines_stay,
        ..CacheModel::new(&[1, 1])
    };
    model.search().violations.assert_has("ends at the goal");
}

#[test]
fn an_update_that_creates_what_it_removes_is_detected_as_a_cycle() {
    let model = CacheModel {
        rule: mutations::one_too_many_is_created,
        ..CacheModel::new(&[1, 1])
    };
    model.search().violations.assert_has("no cycles");
}

#[test]
#[ignore = "takes minutes; the exhaustive search"]
fn exhaustive_with_a_stale_cache() {
    check(CacheModel::new(&[2, 2]));
    check(CacheModel::new(&[2, 1, 1]));
    check(CacheModel::new(&[2, 2, 2]));
    check(CacheModel {
        edited: &[3, 2],
        surge: 2,
        ..CacheModel::new(&[2, 1])
    });
}
