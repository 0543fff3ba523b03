//! Plans without some of the duties.

use super::{hibernation, plan};
use crate::render::control_plane::csi;
use crate::state::duty::Duty;
use crate::state::key::ObjectKind;
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemKind, ItemState, Plan};
use crate::validate::ValidShoot;
use std::collections::{BTreeMap, BTreeSet};

/// Plans a shoot without what is open of the `skipped` duties, and without what needs that.
pub(crate) fn plan_without(
    shoot: &ValidShoot,
    observed: &Observed,
    skipped: &BTreeSet<Duty>,
) -> Plan {
    if skipped.is_empty() {
        return plan(shoot, observed);
    }
    let observed = Observed {
        skipped: skipped.clone(),
        ..observed.clone()
    };
    let is_skipped = |item: &Item| {
        duty(item).is_some_and(|duty| match item.state {
            ItemState::Done => false,
            // They are not missing, and others may need them.
            ItemState::Waiting(_) | ItemState::Blocked if duty == Duty::Objects => false,
            _ => skipped.contains(&duty),
        })
    };
    plan(shoot, &observed).without(is_skipped)
}

/// Numbers of actions that are due, by duty.
pub(crate) fn due_actions(plan: &Plan) -> BTreeMap<Duty, usize> {
    let due = plan.items.iter();
    let due = due.filter(|it| matches!(it.state, ItemState::Due(_)));
    let mut numbers = BTreeMap::new();
    for duty in due.filter_map(duty) {
        *numbers.entry(duty).or_default() += 1;
    }
    numbers
}

/// The duty that an item belongs to; None if it changes nothing. Machines that are replaced by drains or repair are
/// machines, as is what exists for a machine only.
fn duty(item: &Item) -> Option<Duty> {
    Some(match &item.kind {
        ItemKind::Connection => return None,
        ItemKind::Machine(_) => Duty::Machines,
        ItemKind::Deletion { key, .. } if OF_MACHINES.contains(&key.kind) => Duty::Machines,
        ItemKind::Component { name, .. } if **name == *csi::MACHINE_ROLE => Duty::Machines,
        ItemKind::Certificate(_) => Duty::Certificates,
        ItemKind::NodeCertificate { .. } => Duty::Requests,
        ItemKind::Other(id) if id.starts_with(hibernation::ITEM) => Duty::Hibernation,
        _ => Duty::Objects,
    })
}

const OF_MACHINES: [ObjectKind; 4] = [
    ObjectKind::Machine,
    ObjectKind::UserData,
    ObjectKind::Node,
    ObjectKind::BootstrapToken,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::finished;
    use crate::state::action::Action;
    use crate::state::facts::Evacuation;
    use crate::validate::testing::{SHOOT, valid_for_tests};
    use std::sync::Arc;

    fn due(skipped: &[Duty], change: impl Fn(&mut crate::state::facts::Facts)) -> Vec<String> {
        let shoot = valid_for_tests(SHOOT);
        let mut observed = finished(&shoot);
        change(Arc::make_mut(&mut observed.facts));
        let skipped = skipped.iter().copied().collect();
        let plan = plan_without(&shoot, &observed, &skipped);
        let items = plan.items.into_iter();
        let due = items.filter(|it| matches!(it.state, ItemState::Due(_)));
        due.map(|it| it.title).collect()
    }

    #[test]
    fn a_skipped_duty_has_no_open_items_and_the_others_stay() {
        let lose = |facts: &mut crate::state::facts::Facts| {
            facts
                .objects
                .retain(|key, _| key.kind != ObjectKind::Service);
            facts.machines.clear();
            facts.nodes.clear();
        };
        let all = due(&[], lose);
        assert!(!all.is_empty());
        let is_of_machine = |it: &String| it.contains("machine");
        let without = due(&[Duty::Objects], lose);
        assert!(without.iter().all(is_of_machine), "{without:#?}");
        let of_objects = due(&[Duty::Machines], lose);
        assert!(
            !of_objects.is_empty() && !of_objects.iter().any(is_of_machine),
            "{of_objects:#?}"
        );
        assert_eq!(due(&Duty::ALL, lose), Vec::<String>::new());
    }

    #[test]
    fn due_actions_are_counted_by_duty() {
        let shoot = valid_for_tests(SHOOT);
        let mut observed = finished(&shoot);
        assert_eq!(due_actions(&plan(&shoot, &observed)), BTreeMap::new());
        let facts = Arc::make_mut(&mut observed.facts);
        facts
            .objects
            .retain(|key, _| key.kind != ObjectKind::Service);
        let numbers = due_actions(&plan(&shoot, &observed));
        assert!(numbers[&Duty::Objects] > 0, "{numbers:?}");
        assert_eq!(numbers.get(&Duty::Machines), None);
    }

    #[test]
    fn a_drained_host_is_ignored_if_drains_are_skipped() {
        for way in [Evacuation::Migration, Evacuation::Replacement] {
            let evacuate = |facts: &mut crate::state::facts::Facts| {
                for machine in facts.machines.values_mut().flat_map(|it| it.values_mut()) {
                    machine.evacuation = Some(way);
                }
            };
            let all = due(&[], evacuate);
            assert!(!all.is_empty());
            assert_eq!(due(&[Duty::Drains], evacuate), Vec::<String>::new());
        }
    }

    /// As `kvshoot evacuate` does it.
    #[test]
    fn machines_are_replaced_while_the_control_plane_starts_and_not_if_a_part_of_it_is_missing() {
        let shoot = valid_for_tests(SHOOT);
        let skipped = [Duty::Objects, Duty::Certificates].into();
        let machines = |change: &dyn Fn(&mut crate::state::facts::Facts)| {
            let mut observed = finished(&shoot);
            let facts = Arc::make_mut(&mut observed.facts);
            for machine in facts.machines.values_mut().flat_map(|it| it.values_mut()) {
                machine.evacuation = Some(Evacuation::Replacement);
            }
            change(facts);
            let plan = plan_without(&shoot, &observed, &skipped);
            let open = plan
                .items
                .into_iter()
                .filter(|it| it.state != ItemState::Done);
            let open: Vec<Item> = open.collect();
            let writes = |it: &Item| match &it.state {
                ItemState::Due(_) => duty(it) != Some(Duty::Machines),
                _ => false,
            };
            assert!(!open.iter().any(writes), "{open:#?}");
            let is_machine = |it: &&Item| match &it.kind {
                ItemKind::Machine(_) => true,
                ItemKind::Deletion { key, .. } => key.kind == ObjectKind::Machine,
                _ => false,
            };
            open.iter().filter(is_machine).count()
        };
        assert!(machines(&|_| {}) > 0);
        let connects = |facts: &mut crate::state::facts::Facts| {
            facts.shoot_api = crate::state::facts::ShootApi::Absent;
        };
        assert!(machines(&connects) > 0);
        let loses_all = |facts: &mut crate::state::facts::Facts| facts.objects.clear();
        assert_eq!(machines(&loses_all), 0);
    }

    #[test]
    fn a_shoot_that_is_to_hibernate_stays_as_it_is_if_that_is_skipped() {
        let hibernate = |facts: &mut crate::state::facts::Facts| {
            let record = facts.record.as_mut().expect("it is complete");
            record.hibernation = record.hibernation.decided(true, facts.time);
        };
        assert!(!due(&[], hibernate).is_empty());
        assert_eq!(due(&[Duty::Hibernation], hibernate), [""; 0]);
    }

    #[test]
    fn dependencies_still_name_their_items() {
        let shoot = valid_for_tests(SHOOT);
        let plan = plan_without(&shoot, &Observed::default(), &[Duty::Certificates].into());
        let is_known = |need: &crate::state::plan::Dependency| {
            plan.items.iter().any(|it| it.id == plan.item(*need).id)
        };
        for item in &plan.items {
            assert!(item.needs.iter().all(is_known), "{}", item.title);
            let is_certificate = matches!(item.kind, ItemKind::Certificate(_));
            assert!(!is_certificate, "{}", item.title);
            let creates = matches!(&item.state, ItemState::Due(Action::Apply(_)));
            let needs_a_certificate = matches!(item.kind, ItemKind::Connection);
            assert!(!(creates && needs_a_certificate), "{}", item.title);
        }
        assert!(!plan.items.is_empty());
    }
}
