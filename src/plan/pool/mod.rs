//! Items of a pool: one for each slot, and one for each machine to be removed.

pub(crate) mod capacity;
pub(crate) mod certificate;
pub(crate) mod consumers;
mod in_place;
pub(crate) mod node;
mod pool_state;
pub(crate) mod removal;
pub(crate) mod repair;
pub(crate) mod rolling_update;
mod slot;
pub(crate) mod target;
pub(crate) mod token;

use crate::plan::planner::Planner;
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::Dependency;
use consumers::{Consumers, series};
use pool_state::pool_state;
use std::collections::HashSet;
use std::sync::Arc;
use target::{PoolTarget, ZONE_FAILURE_LIMIT};

/// Adds the items of a pool, and returns those of its slots.
pub(crate) fn add(
    planner: &mut Planner,
    target: &PoolTarget,
    consumers: &mut Consumers,
) -> Arc<[Dependency]> {
    let observed = planner.observed;
    let mut pool_state = pool_state(planner, target);
    let pool = rolling_update::RollingPool {
        hash: target.hash,
        targets: &target.targets,
        surge: target.surge,
        unavailable: target.unavailable,
        failures: &pool_state.zone_failures,
        failure_limit: ZONE_FAILURE_LIMIT,
        reserved_names: &reserved_names(observed, target),
    };
    let moves = rolling_update::roll(&pool, &pool_state.judged);
    pool_state.chosen.extend(&moves.remove);
    pool_state.create = moves.create;

    pool_state.resize_now = in_place::resize::begin(target, &pool_state);
    pool_state.repair = repair::decisions(observed, target, &pool_state);

    let mut places = Vec::new();
    let mut surplus = HashSet::new();
    for zone in 0..target.targets.len() {
        places.extend(slot::add(planner, target, &pool_state, &mut surplus, zone));
    }
    let places: Arc<[Dependency]> = places.into();
    let made = pool_state.create.iter().map(|it| target.name(it.0, it.1));
    consumers
        .staying
        .extend(made.chain(pool_state.creating.iter().cloned()));
    let series = (0..target.targets.len()).map(|zone| series(&target.name(zone, 0)).into());
    consumers
        .places
        .extend(series.map(|it| (it, places.clone())));
    removal::add(planner, target, &pool_state, &surplus, &places, consumers);
    places
}

/// Zone and ordinal of names that machines have, or disks or nodes of deleted machines: a new machine would be mistaken for
/// one that has joined, and lose its bootstrap token before using it.
fn reserved_names(observed: &Observed, target: &PoolTarget) -> Vec<(usize, u32)> {
    let of = |machine: &str| {
        let ordinal = names::ordinal(machine)?;
        let zone = (0..target.targets.len()).find(|it| *target.name(*it, ordinal) == *machine)?;
        Some((zone, ordinal))
    };
    let facts = &observed.facts;
    let names = facts.remaining_disks.iter().chain(facts.nodes.keys());
    // The name of a machine that was restarted with another size has the hash of its former size.
    let machines = observed.pool(&target.pool).map(|it| it.0);
    let names = names.chain(machines);
    names.filter_map(|it| of(it)).collect()
}

#[cfg(test)]
mod tests {
    use crate::model::Quantity;
    use crate::plan::{finished, plan};
    use crate::state::action::{Action, Payload};
    use crate::state::facts::{Evacuation, Facts, MachinePhase, ObservedMachine, Quota};
    use crate::state::failure::{ErrorClass, Failure};
    use crate::state::key::ObjectKind;
    use crate::state::observed::Observed;
    use crate::state::plan::{Item, ItemKind, ItemState, MachineStep, Plan};
    use crate::state::testing::node;
    use crate::validate::testing::{SHOOT, valid_for_tests};
    use std::sync::Arc;
    use std::time::Duration;

    /// Machines that are to be made.
    fn made(facts: &Facts) -> Vec<String> {
        let observed = Observed {
            facts: Arc::new(facts.clone()),
            ..Observed::default()
        };
        let items = plan(&valid_for_tests(SHOOT), &observed).items.into_iter();
        let name = |item: Item| match item.kind {
            ItemKind::Machine(slot) if slot.step == MachineStep::Create => slot.machine,
            _ => None,
        };
        items
            .filter_map(name)
            .map(|name| name.to_string())
            .collect()
    }

    /// Titles and states of the items that delete machines.
    fn removals(plan: &Plan) -> Vec<(&str, &ItemState)> {
        let items = plan.items.iter();
        let items = items.filter(|it| it.title.starts_with("Delete machine"));
        items.map(|it| (it.title.as_str(), &it.state)).collect()
    }

    /// States of the slots of a shoot whose only machine is changed.
    fn slots(change: impl Fn(&mut ObservedMachine), now: u64) -> Plan {
        let shoot = valid_for_tests(SHOOT);
        let mut observed = finished(&shoot);
        observed.now = Duration::from_secs(now);
        let facts = Arc::make_mut(&mut observed.facts);
        facts.nodes.values_mut().for_each(|it| it.serves = false);
        let machines = facts.machines.values_mut();
        machines.flat_map(|it| it.values_mut()).for_each(change);
        plan(&shoot, &observed)
    }

    fn slot_state(plan: &Plan) -> &ItemState {
        let mut items = plan.items.iter();
        let slot = items.find(|it| matches!(it.kind, ItemKind::Machine(_)));
        &slot.unwrap().state
    }

    #[test]
    fn a_machine_without_a_host_fails_after_half_of_its_creation_timeout_and_stays() {
        let full = |machine: &mut ObservedMachine| {
            machine.phase = MachinePhase::Provisioning;
            machine.runs = false;
            machine.status = "ErrorUnschedulable".into();
            machine.unschedulable_since = Some(Duration::from_secs(5));
        };
        let early = slots(full, 604);
        assert!(matches!(slot_state(&early), ItemState::Waiting(_)));
        assert_eq!(early.wake, Some(Duration::from_secs(605)));
        let late = slots(full, 605);
        let ItemState::Failed(failure) = slot_state(&late) else {
            panic!("{:?}", slot_state(&late));
        };
        assert_eq!(failure.class, ErrorClass::Infrastructure);
        let numbers = "has no host with 1 CPU and 4Gi free (pool cpu): ErrorUnschedulable";
        assert!(failure.message.contains(numbers), "{failure:?}");
        assert_eq!(removals(&late), []);
        let waits = |it: &&Item| matches!(it.state, ItemState::Waiting(_) | ItemState::Due(_));
        let waits: Vec<_> = late.items.iter().filter(waits).collect();
        assert!(waits.is_empty(), "they keep the run alive: {waits:?}");
    }

    #[test]
    fn a_machine_that_ran_and_did_not_join_is_removed_without_a_replacement() {
        let late = |runs: bool| {
            let plan = slots(
                |machine| {
                    machine.phase = MachinePhase::Provisioning;
                    machine.runs = runs;
                    machine.since = Duration::ZERO;
                },
                1_200,
            );
            let removed = removals(&plan).len();
            let is_new = |it: &&Item| {
                let is_due = matches!(it.state, ItemState::Due(_));
                is_due && it.title.starts_with("Create machine")
            };
            (removed, plan.items.iter().filter(is_new).count())
        };
        assert_eq!(late(true), (1, 0));
        assert_eq!(late(false), (1, 1));
    }

    #[test]
    fn a_zone_is_given_up_after_one_machine_that_ran_and_did_not_join() {
        let shoot = valid_for_tests(SHOOT);
        let mut observed = finished(&shoot);
        let machines = observed.facts.machines.values().flatten();
        let machine = machines.map(|it| it.1.clone()).next().unwrap();
        let pool: Arc<str> = "cpu".into();
        let facts = Arc::make_mut(&mut observed.facts);
        facts.machines.clear();
        facts.nodes.clear();
        observed
            .zone_failures
            .insert((pool.clone(), machine.hash), vec![1]);
        let mut state_after = |class| {
            let last = (class, "no network".into());
            observed.last_zone_failure.insert((pool.clone(), 0), last);
            slot_state(&plan(&shoot, &observed)).clone()
        };
        let message = "1 machine failed in this zone during this run, the last with: no network";
        let given_up = ItemState::Failed(Failure::new(ErrorClass::Guest, message));
        assert_eq!(state_after(ErrorClass::Guest), given_up);
        let again = state_after(ErrorClass::Infrastructure);
        assert!(!matches!(again, ItemState::Failed(_)), "{again:?}");
    }

    #[test]
    fn machines_that_kubevirt_can_migrate_are_migrated_and_stay() {
        let shoot = valid_for_tests(SHOOT);
        let mut observed = finished(&shoot);
        let facts = Arc::make_mut(&mut observed.facts);
        let machines = facts.machines.values_mut().flat_map(|it| it.values_mut());
        machines.for_each(|it| it.evacuation = Some(Evacuation::Migration));
        let name = facts.machines["cpu"].keys().next().unwrap().clone();
        let open = |observed: &Observed| {
            let items = plan(&shoot, observed).items.into_iter();
            let open = items.filter(|it| it.state != ItemState::Done);
            open.map(|it| (it.title, it.state)).collect::<Vec<_>>()
        };
        let [(title, ItemState::Due(Action::Apply(wanted)))] = &open(&observed)[..] else {
            panic!("{:#?}", open(&observed));
        };
        assert_eq!(*title, format!("Migrate machine {name} to another host"));
        assert!(matches!(wanted.payload, Payload::Migrate { .. }));
        // Its host is no longer drained.
        let machines = Arc::make_mut(&mut observed.facts).machines.values_mut();
        let machines = machines.flat_map(|it| it.values_mut());
        machines.for_each(|it| it.evacuation = Some(Evacuation::Cancellation));
        let [(title, ItemState::Due(Action::Apply(wanted)))] = &open(&observed)[..] else {
            panic!("{:#?}", open(&observed));
        };
        let expected = format!("Keep machine {name} on its host, which is no longer drained");
        assert_eq!(*title, expected);
        assert!(matches!(wanted.payload, Payload::CancelEvacuation { .. }));
        // It cannot be migrated, after all.
        let machines = Arc::make_mut(&mut observed.facts).machines.values_mut();
        let machines = machines.flat_map(|it| it.values_mut());
        machines.for_each(|it| it.instance.replace = Some("it cannot be migrated".into()));
        let all = plan(&shoot, &observed);
        let [(title, ItemState::Blocked)] = removals(&all)[..] else {
            panic!("{:?}", removals(&all));
        };
        let expected = format!("Delete machine {name} (it cannot be migrated)");
        assert_eq!(title, expected);
    }

    #[test]
    fn the_machines_of_a_renamed_pool_serve_until_the_new_ones_do() {
        let before = SHOOT.replace("type: calico", "type: flannel");
        let old = finished(&valid_for_tests(&before));
        let renamed = valid_for_tests(&before.replace("name: cpu", "name: renamed"));
        let plan_of = |facts: &Facts| {
            plan(
                &renamed,
                &Observed {
                    facts: Arc::new(facts.clone()),
                    ..Observed::default()
                },
            )
        };
        let mut facts = (*old.facts).clone();
        let all = plan_of(&facts);
        let [(_, ItemState::Blocked)] = removals(&all)[..] else {
            panic!("{:?}", removals(&all));
        };
        // There is no room for the new machine beside the old one.
        let mut full = facts.clone();
        let one = |count: &str| Quantity::parse(count).expect("a number");
        full.namespace_limits.quotas = vec![Quota {
            is_scoped: false,
            name: "machines".to_owned(),
            hard: [("pods".to_owned(), one("1"))].into(),
            used: [("pods".to_owned(), one("1"))].into(),
        }];
        let all = plan_of(&full);
        let [(_, ItemState::Due(Action::Drain(_)))] = removals(&all)[..] else {
            panic!("{:?}", removals(&all));
        };
        // The new machine runs and is ready.
        let new = finished(&renamed).facts;
        facts.machines.extend(new.machines.clone());
        facts.nodes.extend(new.nodes.clone());
        facts.objects.extend(
            new.objects
                .iter()
                .filter(|it| it.0.kind == ObjectKind::UserData)
                .map(|(key, it)| (key.clone(), it.clone())),
        );
        let all = plan_of(&facts);
        let [(title, ItemState::Due(Action::Drain(_)))] = removals(&all)[..] else {
            panic!("{:?}", removals(&all));
        };
        assert!(title.contains("-cpu-"), "{title}");
        // A machine that never served anything is not kept.
        let mut facts = (*old.facts).clone();
        for machine in facts.machines.values_mut().flat_map(|it| it.values_mut()) {
            machine.phase = MachinePhase::Provisioning;
        }
        let all = plan_of(&facts);
        assert!(
            matches!(removals(&all)[..], [(_, ItemState::Due(Action::Delete(_)))]),
            "{:?}",
            removals(&all)
        );
    }

    #[test]
    fn a_name_is_not_reused_while_a_disk_or_node_has_it() {
        let name: Arc<str> = made(&Facts::default()).remove(0).into();
        let next = name.strip_suffix("-0").expect("the first");
        let next = format!("{next}-1");

        let mut facts = Facts::default();
        facts.remaining_disks.insert(name.clone());
        assert_eq!(made(&facts)[0], next);

        let mut facts = Facts::default();
        facts.nodes.insert(name, node());
        assert_eq!(made(&facts)[0], next);
    }
}
