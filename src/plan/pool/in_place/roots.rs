//! Machines that take new CAs in place.
//!
//! A timer in the machine reads the CAs that the cluster publishes, gives its kubelet certificates of the new one, and reports
//! that on its node. The plan waits for it, and notes it on the machine, because a node is deleted while its machine is off.

use crate::plan::pool::target::PoolTarget;
use crate::state::action::{Action, Desired, Payload};
use crate::state::desired::machine_content::MachineContent;
use crate::state::facts::ObservedMachine;
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use std::sync::Arc;

/// True if the machine takes the new CAs of its pool: it has done so, or has time left.
pub(in crate::plan::pool) fn takes(
    observed: &Observed,
    target: &PoolTarget,
    name: &str,
    content: &MachineContent,
) -> bool {
    observed.now < target.roots_limit || has_taken(observed, target, name, content)
}

fn has_taken(
    observed: &Observed,
    target: &PoolTarget,
    name: &str,
    content: &MachineContent,
) -> bool {
    let node = observed.facts.nodes.get(name);
    let wanted = target.content.as_ref();
    wanted
        .zip(node)
        .is_some_and(|(wanted, node)| content.has_taken_roots(wanted, &node.roots))
}

/// Title and state of the slot of such a machine.
pub(in crate::plan::pool) fn adoption(
    observed: &Observed,
    target: &PoolTarget,
    name: &Arc<str>,
    machine: &ObservedMachine,
) -> (String, ItemState) {
    let title = format!("Renew the certificate authority of machine {name} in place");
    let content = machine.content.as_ref();
    if !content.is_some_and(|it| has_taken(observed, target, name, it)) {
        let why = "the machine has not reported the new certificate authority yet";
        return (title, ItemState::Waiting(why.to_owned()));
    }
    let roots = target.content.as_ref().and_then(|it| it.roots.as_ref());
    let wanted = Desired {
        key: ObjectKey::provider(ObjectKind::Machine, name.clone()),
        hash: Hash::of(&roots.map(|it| &*it.trusted)),
        payload: Payload::Metadata {
            pool: target.pool.clone(),
            uid: machine.uid.clone(),
        },
    };
    (title, ItemState::Due(Action::Apply(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{finished, plan};
    use crate::state::action::MachineResize;
    use crate::state::plan::ItemKind;
    use crate::state::record::rotation::{Credential, RotationStep};
    use crate::state::testing::rotation;
    use crate::validate::ValidShoot;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    const STARTED: i64 = 1_000_000;

    fn shoot(strategy: &str) -> ValidShoot {
        let pool = format!("    - name: cpu\n      {strategy}\n");
        let text = SHOOT.replace("    - name: cpu\n", &pool);
        assert!(text.contains(strategy));
        valid_for_tests(&text)
    }

    fn in_place() -> ValidShoot {
        shoot("updateStrategy: AutoInPlaceUpdate")
    }

    /// A cluster whose CA is rotated, some time after the beginning of the step; nodes report CAs.
    fn rotated(shoot: &ValidShoot, seconds: i64, reported: &str) -> Observed {
        let mut observed = finished(shoot);
        let facts = Arc::make_mut(&mut observed.facts);
        facts.time = STARTED + seconds;
        facts.record.as_mut().expect("a record").rotation =
            rotation(Credential::Ca, RotationStep::Use, STARTED);
        facts
            .nodes
            .values_mut()
            .for_each(|it| it.roots = reported.into());
        observed
    }

    /// Titles of the slots, and of deletions of machines.
    fn titles(shoot: &ValidShoot, observed: &Observed) -> Vec<String> {
        let items = plan(shoot, observed).items.into_iter();
        let is_of_machine = |it: &ItemKind| match it {
            ItemKind::Machine(_) => true,
            ItemKind::Deletion { key, .. } => key.kind == ObjectKind::Machine,
            _ => false,
        };
        items
            .filter(|it| is_of_machine(&it.kind))
            .map(|it| it.title)
            .collect()
    }

    fn machine(observed: &Observed) -> Arc<str> {
        let mut names = observed.facts.machines["cpu"].keys();
        names.next().expect("a machine").clone()
    }

    #[test]
    fn a_machine_that_takes_new_cas_stays_and_another_one_is_replaced() {
        let shoot_in_place = in_place();
        let observed = rotated(&shoot_in_place, 60, "0/alone");
        let name = machine(&observed);
        let renewed = format!("Renew the certificate authority of machine {name} in place");
        assert_eq!(titles(&shoot_in_place, &observed), [renewed]);
        let rolling = shoot("updateStrategy: AutoRollingUpdate");
        let replaced = titles(&rolling, &rotated(&rolling, 60, "0/alone"));
        assert!(
            replaced.iter().any(|it| it.starts_with("Create machine")),
            "{replaced:?}"
        );
        assert!(
            replaced.iter().any(|it| it.starts_with("Delete machine")),
            "{replaced:?}"
        );
    }

    #[test]
    fn a_machine_that_has_not_reported_new_cas_in_time_is_replaced() {
        let shoot = in_place();
        let is_replaced = |seconds, reported| {
            let titles = titles(&shoot, &rotated(&shoot, seconds, reported));
            titles.iter().any(|it| it.starts_with("Delete machine"))
        };
        assert!(!is_replaced(15 * 60 - 1, "0/alone"));
        assert!(is_replaced(15 * 60, "0/alone"));
        assert!(is_replaced(15 * 60, ""));
        // It was late, and has them.
        assert!(!is_replaced(60 * 60, "1/leading"));
        // The clock was wrong when the step began.
        assert!(!is_replaced(-60 * 60, "0/alone"));
    }

    #[test]
    fn the_time_of_machines_is_up_also_in_a_run_that_began_before_the_step() {
        let shoot = in_place();
        let is_replaced = |run: u64| {
            let mut observed = rotated(&shoot, -100, "0/alone");
            observed.now = std::time::Duration::from_secs(run);
            let titles = titles(&shoot, &observed);
            titles.iter().any(|it| it.starts_with("Delete machine"))
        };
        assert!(!is_replaced(999));
        assert!(is_replaced(1_000));
    }

    #[test]
    fn a_plan_looks_again_when_the_time_of_machines_is_up() {
        let shoot = in_place();
        let mut observed = rotated(&shoot, 60, "0/alone");
        observed.now = std::time::Duration::from_secs(5);
        let wake = plan(&shoot, &observed).wake.expect("a time");
        assert!(
            wake <= std::time::Duration::from_secs(5 + 14 * 60),
            "{wake:?}"
        );
    }

    #[test]
    fn the_cas_that_a_node_reports_are_noted_on_its_machine() {
        let shoot = in_place();
        let observed = rotated(&shoot, 60, "1/leading");
        let name = machine(&observed);
        let items = plan(&shoot, &observed).items;
        let slot = items
            .iter()
            .find(|it| matches!(it.kind, ItemKind::Machine(_)));
        assert!(
            slot.is_some_and(|it| it.title.contains("in place")),
            "{slot:?}"
        );
        // What it does once the control plane has followed the step.
        let uid = observed.facts.machines["cpu"][&name].uid.clone();
        let wanted = Desired {
            key: ObjectKey::provider(ObjectKind::Machine, name),
            hash: Hash(0),
            payload: Payload::Metadata {
                pool: "cpu".into(),
                uid,
            },
        };
        let objects = crate::render::objects(&shoot, &observed.facts, &wanted);
        let notes = &objects[0]["metadata"]["annotations"];
        assert_eq!(notes["kvshoot.io/certificate-authorities"], "1/leading");
        assert!(notes["kvshoot.io/fixed-hash"].is_string(), "{notes}");
        // Its size is what it was.
        assert!(notes["kvshoot.io/size-hash"].is_null(), "{notes}");
        let early = rotated(&shoot, 60, "0/alone");
        let objects = crate::render::objects(&shoot, &early.facts, &wanted);
        let notes = &objects[0]["metadata"]["annotations"];
        assert!(
            notes["kvshoot.io/certificate-authorities"].is_null(),
            "{notes}"
        );
    }

    #[test]
    fn another_size_does_not_claim_that_a_machine_takes_new_cas() {
        let shoot = in_place();
        let mut observed = finished(&shoot);
        let name = machine(&observed);
        let facts = Arc::make_mut(&mut observed.facts);
        let machines = facts.machines.values_mut().flat_map(|it| it.values_mut());
        let machine = machines.last().expect("a machine");
        let content = machine.content.as_mut().expect("its content");
        assert!(content.roots.take().is_some());
        let wanted = Desired {
            key: ObjectKey::provider(ObjectKind::Machine, name),
            hash: Hash(0),
            payload: Payload::Start {
                uid: machine.uid.clone(),
                resize: Some(MachineResize {
                    pool: "cpu".into(),
                    disks: [].into(),
                }),
            },
        };
        let objects = crate::render::objects(&shoot, &observed.facts, &wanted);
        let notes = &objects[0]["metadata"]["annotations"];
        assert!(notes["kvshoot.io/size-hash"].is_string(), "{notes}");
        assert!(
            notes["kvshoot.io/certificate-authorities"].is_null(),
            "{notes}"
        );
    }
}
