use super::manifests::{A, B, Pool, shoot};
use super::{RunOutcome, SearchResult, Simulation, Zone, outcome, plan, search};
use crate::plan::item::{Action, Class, Failure, Plan, State};
use crate::plan::observed::Look;
use std::collections::BTreeMap;

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search prints what it covered")]
fn check(seeds: u64) {
    let SearchResult {
        plans,
        longest,
        violations,
    } = search(plan, 1..=seeds);
    println!("{seeds} seeds, {plans} plans, at most {longest} rounds");
    violations.assert_none();
}

#[test]
fn all_invariants_hold_in_a_small_simulation() {
    check(60);
}

#[test]
#[ignore = "takes minutes; the exhaustive search"]
fn exhaustive_simulation() {
    check(3_000);
}

/// Runs once without random faults: first one manifest, then another image with a bad zone. Returns the outcome, the
/// last plan, and counts of ready machines.
fn with_a_bad_zone(
    bounds: (&str, &str),
    spoil: fn(&mut Simulation, Zone),
) -> (RunOutcome, Plan, [usize; 3]) {
    let pools = [Pool { size: (4, 4), ..A }, B];
    let newer = pools.map(|it| Pool {
        image: "24.04",
        ..it
    });
    let (before, after) = (
        shoot(&["red"], &pools, bounds),
        shoot(&["red"], &newer, bounds),
    );
    let mut result = SearchResult::default();
    let mut simulation = Simulation::new(7, plan, &mut result);
    simulation.shoot = Some(&before);
    assert_eq!(simulation.run(false, 0), Some(RunOutcome::Done));
    spoil(&mut simulation, ("a".into(), 0));
    simulation.shoot = Some(&after);
    let ended = simulation
        .run(false, 0)
        .expect("without faults no run is interrupted");
    let last = simulation.plan();
    let ready = |pool: &str, hash_of: &str| {
        let machines = simulation.observed.facts.machines[pool].values();
        let image = |image: &Option<std::sync::Arc<str>>| {
            image.as_ref().is_some_and(|it| it.contains(hash_of))
        };
        machines
            .filter(|it| it.look == Look::Ready && image(&it.image))
            .count()
    };
    let counts = [
        ready("a", "22-04"),
        ready("a", "24-04"),
        ready("b", "24-04"),
    ];
    for name in ["total", "available", "ends", "names", "once"] {
        assert!(!result.violations.has(name), "{}", result.violations);
    }
    (ended, last, counts)
}

#[test]
fn a_zone_without_ready_machines_is_given_up_and_keeps_its_old_machines() {
    let (ended, last, counts) = with_a_bad_zone(("1", "0"), |simulation, zone| {
        simulation.dead_zone = Some(zone)
    });
    assert_eq!(
        (ended, outcome(&last)),
        (RunOutcome::Stuck, RunOutcome::Stuck)
    );
    assert_eq!(counts, [2, 2, 2]);
    let failed = last
        .items
        .iter()
        .filter(|it| matches!(it.state, State::Failed(_)));
    assert!(failed.clone().count() > 0);
    assert!(
        failed
            .into_iter()
            .all(|it| it.id.to_string().starts_with("machine/a/z1/"))
    );
}

#[test]
fn a_zone_whose_machines_are_rejected_is_given_up_at_once() {
    let (ended, last, counts) = with_a_bad_zone(("1", "0"), |simulation, zone| {
        simulation.refusing_zone = Some(zone)
    });
    assert_eq!(
        (ended, outcome(&last)),
        (RunOutcome::Stuck, RunOutcome::Stuck)
    );
    assert_eq!(counts, [2, 2, 2]);
}

/// The version changes with every change of the status.
#[test]
fn a_rejected_action_stays_rejected_at_every_version() {
    let manifest = shoot(&["red"], &[A], ("1", "0"));
    let mut result = SearchResult::default();
    let mut simulation = Simulation::new(7, plan, &mut result);
    simulation.shoot = Some(&manifest);
    assert_eq!(simulation.run(false, 0), Some(RunOutcome::Done));
    simulation
        .facts()
        .machines
        .values_mut()
        .flat_map(|it| it.values_mut())
        .for_each(|it| it.look = Look::Broken);
    let due = |plan: &Plan| {
        let actions = plan.items.iter().filter_map(|it| match &it.state {
            State::Due(action @ Action::Delete(_)) => Some(action.clone()),
            _ => None,
        });
        actions.collect::<Vec<_>>()
    };
    let refused = due(&simulation.plan());
    assert_eq!(refused.len(), 2);
    for action in refused {
        let failure = Failure::new(Class::NotAllowed, "no");
        simulation
            .observed
            .refused
            .insert(action.key().clone(), (action, failure));
    }
    simulation
        .facts()
        .machines
        .values_mut()
        .flat_map(|it| it.values_mut())
        .for_each(|it| it.version = "later".into());
    assert_eq!(due(&simulation.plan()), []);
}

#[test]
fn only_the_machine_whose_host_is_drained_is_replaced() {
    let manifest = shoot(&["red"], &[Pool { size: (3, 3), ..A }], ("1", "0"));
    let mut result = SearchResult::default();
    let mut simulation = Simulation::new(7, plan, &mut result);
    simulation.shoot = Some(&manifest);
    assert_eq!(simulation.run(false, 0), Some(RunOutcome::Done));
    let uids = |simulation: &Simulation| -> BTreeMap<_, _> {
        let machines = simulation.observed.facts.machines["a"].iter();
        machines
            .map(|it| (it.0.clone(), it.1.uid.clone()))
            .collect()
    };
    let before = uids(&simulation);
    let (name, machine) = simulation
        .facts()
        .machines
        .values_mut()
        .flatten()
        .next()
        .unwrap();
    let evacuated = name.clone();
    machine.evacuating = true;
    let last = simulation.plan();
    let removal = last.items.iter().find(|it| it.title.starts_with("Delete"));
    let removal = removal.unwrap();
    let title = format!("Delete machine {evacuated} (its host is being drained)");
    assert_eq!((&removal.title, &removal.state), (&title, &State::Blocked));
    assert_eq!(simulation.run(false, 0), Some(RunOutcome::Done));
    let after = uids(&simulation);
    let stays: Vec<_> = before.iter().filter(|it| *it.0 != evacuated).collect();
    assert!(stays.iter().all(|it| after.get(it.0) == Some(it.1)));
    assert_eq!((after.len(), after.get(&evacuated)), (3, None));
    result.violations.assert_none();
}
