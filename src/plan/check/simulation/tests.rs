use super::manifests::{A, B, Pool, shoot};
use super::{Found, Verdict, World, Zone, plan, search, verdict};
use crate::state::action::Action;
use crate::state::facts::{Evacuation, MachinePhase};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::plan::{ItemState, Plan};
use std::collections::BTreeMap;
use std::num::NonZero;

/// Divides the seeds among the cores.
fn search_in_parallel(seeds: u64) -> Found {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut found = Found::default();
    std::thread::scope(|scope| {
        let part = |first| move || search(plan, (first..=seeds).step_by(cores));
        let first_seeds = (1..).take(cores);
        let parts: Vec<_> = first_seeds.map(|first| scope.spawn(part(first))).collect();
        for part in parts {
            found.merge(part.join().expect("no search panics"));
        }
    });
    found
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search prints what it covered")]
fn check(seeds: u64) -> u64 {
    let Found {
        plans,
        moves,
        longest,
        broken,
    } = search_in_parallel(seeds);
    println!("{seeds} seeds, {plans} plans, {moves} moves, at most {longest} rounds");
    broken.assert_none();
    moves
}

#[test]
fn whole_plans_hold_in_a_small_world() {
    check(12);
}

#[test]
#[ignore = "second tier: the first tier tries twelve worlds"]
fn whole_plans_hold_in_many_small_worlds() {
    check(200);
}

#[test]
#[ignore = "second tier: ten million moves; the first tier makes some of them"]
fn exhaustive_world() {
    let moves = check(7_500);
    assert!(moves >= 10_000_000, "{moves} moves");
}

/// Runs once without chance faults, first one manifest, then another image in a world with a bad zone; the
/// last plan, and how it went.
fn with_a_bad_zone(
    bounds: (&str, &str),
    spoil: fn(&mut World, Zone),
) -> (Verdict, Plan, [usize; 3]) {
    let pools = [Pool { size: (4, 4), ..A }, B];
    let newer = pools.map(|pool| Pool {
        image: "24.04",
        ..pool
    });
    let (before, after) = (
        shoot(&["red"], &pools, bounds),
        shoot(&["red"], &newer, bounds),
    );
    let mut found = Found::default();
    let mut world = World::new(7, plan, &mut found);
    world.shoot = Some(&before);
    assert_eq!(world.run(false, 0), Some(Verdict::Done));
    spoil(&mut world, ("a".into(), 0));
    world.shoot = Some(&after);
    let ended = world
        .run(false, 0)
        .expect("without faults no run is cut off");
    let last = world.plan();
    let ready = |pool: &str, hash_of: &str| {
        let machines = world.observed.facts.machines[pool].values();
        let image = |image: &Option<std::sync::Arc<str>>| {
            image.as_ref().is_some_and(|it| it.contains(hash_of))
        };
        machines
            .filter(|it| it.phase == MachinePhase::Ready && image(&it.image))
            .count()
    };
    let counts = [
        ready("a", "22-04"),
        ready("a", "24-04"),
        ready("b", "24-04"),
    ];
    for name in ["total", "available", "ends", "names", "once"] {
        assert!(!found.broken.has(name), "{}", found.broken);
    }
    (ended, last, counts)
}

#[test]
fn a_zone_that_makes_nothing_is_given_up_and_keeps_its_old_machines() {
    let (ended, last, counts) = with_a_bad_zone(("1", "0"), |world, zone| world.dead = Some(zone));
    assert_eq!((ended, verdict(&last)), (Verdict::Stuck, Verdict::Stuck));
    assert_eq!(counts, [2, 2, 2]);
    let failed = last
        .items
        .iter()
        .filter(|it| matches!(it.state, ItemState::Failed(_)));
    assert!(failed.clone().count() > 0);
    assert!(
        failed
            .into_iter()
            .all(|it| it.id.to_string().starts_with("machine/a/z1/"))
    );
}

#[test]
fn a_zone_whose_machines_are_refused_is_given_up_at_once() {
    let (ended, last, counts) =
        with_a_bad_zone(("1", "0"), |world, zone| world.closed = Some(zone));
    assert_eq!((ended, verdict(&last)), (Verdict::Stuck, Verdict::Stuck));
    assert_eq!(counts, [2, 2, 2]);
}

/// Its version moves with every change of its status.
#[test]
fn what_is_refused_stays_so_at_every_version() {
    let manifest = shoot(&["red"], &[A], ("1", "0"));
    let mut found = Found::default();
    let mut world = World::new(7, plan, &mut found);
    world.shoot = Some(&manifest);
    assert_eq!(world.run(false, 0), Some(Verdict::Done));
    world
        .facts()
        .machines
        .values_mut()
        .flat_map(|it| it.values_mut())
        .for_each(|it| it.phase = MachinePhase::Failed);
    let due = |plan: &Plan| {
        let actions = plan.items.iter().filter_map(|item| match &item.state {
            ItemState::Due(action @ Action::Delete(_)) => Some(action.clone()),
            _ => None,
        });
        actions.collect::<Vec<_>>()
    };
    let refused = due(&world.plan());
    assert_eq!(refused.len(), 2);
    for action in refused {
        let failure = Failure::new(ErrorClass::NotAllowed, "no");
        world
            .observed
            .refused
            .insert(action.key().clone(), (action, failure));
    }
    world
        .facts()
        .machines
        .values_mut()
        .flat_map(|it| it.values_mut())
        .for_each(|it| it.version = "later".into());
    assert_eq!(due(&world.plan()), []);
}

#[test]
fn a_machine_whose_host_is_emptied_is_replaced_and_no_other() {
    let manifest = shoot(&["red"], &[Pool { size: (3, 3), ..A }], ("1", "0"));
    let mut found = Found::default();
    let mut world = World::new(7, plan, &mut found);
    world.shoot = Some(&manifest);
    assert_eq!(world.run(false, 0), Some(Verdict::Done));
    let uids = |world: &World| -> BTreeMap<_, _> {
        let machines = world.observed.facts.machines["a"].iter();
        machines
            .map(|it| (it.0.clone(), it.1.uid.clone()))
            .collect()
    };
    let before = uids(&world);
    let (name, machine) = world
        .facts()
        .machines
        .values_mut()
        .flatten()
        .next()
        .unwrap();
    let gone = name.clone();
    machine.evacuation = Some(Evacuation::Replacement);
    let last = world.plan();
    let removal = last
        .items
        .iter()
        .find(|it| it.title.starts_with("Delete machine"));
    let removal = removal.unwrap();
    let title = format!("Delete machine {gone} (its host is being drained)");
    assert_eq!(
        (&removal.title, &removal.state),
        (&title, &ItemState::Blocked)
    );
    assert_eq!(world.run(false, 0), Some(Verdict::Done));
    let after = uids(&world);
    let stays: Vec<_> = before.iter().filter(|it| *it.0 != gone).collect();
    assert!(stays.iter().all(|it| after.get(it.0) == Some(it.1)));
    assert_eq!((after.len(), after.get(&gone)), (3, None));
    found.broken.assert_none();
}
