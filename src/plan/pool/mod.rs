//! Items of a pool: one for each slot, and one for each machine to be removed.

pub(crate) mod capacity;
pub(crate) mod consumers;
pub(crate) mod node;
mod pool_state;
pub(crate) mod removal;
pub(crate) mod rolling_update;
mod slot;
pub(crate) mod target;
pub(crate) mod token;
pub(crate) mod zone_distribution;

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

/// Zone and ordinal of names that disks or nodes of deleted machines still have: a new machine would be mistaken for one
/// that has joined, and lose its bootstrap token before using it.
fn reserved_names(observed: &Observed, target: &PoolTarget) -> Vec<(usize, u32)> {
    let of = |machine: &str| {
        let ordinal = names::ordinal(machine)?;
        let zone = (0..target.targets.len()).find(|it| *target.name(*it, ordinal) == *machine)?;
        Some((zone, ordinal))
    };
    let facts = &observed.facts;
    let names = facts.remaining_disks.iter().chain(facts.nodes.keys());
    names.filter_map(|it| of(it)).collect()
}

#[cfg(test)]
mod tests {
    use crate::model::Quantity;
    use crate::plan::{finished, plan};
    use crate::state::action::Action;
    use crate::state::facts::{Facts, MachinePhase, Quota};
    use crate::state::key::ObjectKind;
    use crate::state::observed::Observed;
    use crate::state::plan::{Item, ItemKind, ItemState, MachineStep, Plan};
    use crate::state::testing::node;
    use crate::validate::testing::{SHOOT, valid_for_tests};
    use std::sync::Arc;

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
