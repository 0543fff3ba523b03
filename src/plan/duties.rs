//! Plans without some of the duties.

use super::pool::certificate;
use super::{hibernation, plan};
use crate::state::duty::Duty;
use crate::state::key::ObjectKind;
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemKind, ItemState, Plan};
use crate::validate::ValidShoot;
use std::collections::BTreeSet;

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
    let is_skipped = |item: &Item| item.state != ItemState::Done && skipped.contains(&duty(item));
    plan(shoot, &observed).without(is_skipped)
}

/// The duty that an item belongs to. Machines that are replaced by drains or repair are machines.
fn duty(item: &Item) -> Duty {
    match &item.kind {
        ItemKind::Machine(_) => Duty::Machines,
        ItemKind::Deletion { key, .. } if key.kind == ObjectKind::Machine => Duty::Machines,
        ItemKind::Certificate(_) => Duty::Certificates,
        ItemKind::Other(id) if id.starts_with(certificate::ITEM) => Duty::Requests,
        ItemKind::Other(id) if id.starts_with(hibernation::ITEM) => Duty::Hibernation,
        _ => Duty::Objects,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::finished;
    use crate::state::action::Action;
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
    fn a_drained_host_is_ignored_if_drains_are_skipped() {
        let evacuate = |facts: &mut crate::state::facts::Facts| {
            for machine in facts.machines.values_mut().flat_map(|it| it.values_mut()) {
                machine.evacuating = true;
            }
        };
        let all = due(&[], evacuate);
        assert!(!all.is_empty());
        assert_eq!(due(&[Duty::Drains], evacuate), Vec::<String>::new());
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
