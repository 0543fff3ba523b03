//! Bootstrap tokens: one for each machine, until it has joined.

use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::{MachinePhase, ObservedMachine, ShootApi};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self};
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use std::sync::Arc;

pub(crate) fn key(machine: &str) -> ObjectKey {
    let id = names::token_id(machine);
    ObjectKey::shoot(
        ObjectKind::BootstrapToken,
        format!("kube-system/bootstrap-token-{id}"),
    )
}

/// Due for a machine that has not joined and has no token, because it expired or was never written.
pub(crate) fn missing(
    observed: &Observed,
    name: &Arc<str>,
    machine: &ObservedMachine,
) -> Option<ItemState> {
    let facts = &observed.facts;
    let key = key(name);
    let joins = facts.shoot_api == ShootApi::Reachable
        && machine.phase == MachinePhase::Provisioning
        && !facts.nodes.contains_key(name)
        && !facts.objects.contains_key(&key);
    joins.then(|| {
        ItemState::Due(Action::Apply(Desired {
            key,
            hash: Hash::of(&&**name),
            payload: Payload::Token {
                machine: name.clone(),
            },
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::machine::token::object;
    use crate::state::facts::{Facts, ObjectStatus, ObservedNode, ObservedObject};
    use crate::state::site::Site;
    use crate::state::testing::{machine, node};

    const NAME: &str = "shoot--dev--demo-cpu-z1-abcde-0";

    fn is_due(facts: Facts, look: MachinePhase) -> bool {
        let observed = Observed {
            facts: facts.into(),
            ..Observed::default()
        };
        let state = missing(&observed, &NAME.into(), &machine(look));
        match state {
            None => false,
            Some(ItemState::Due(Action::Apply(Desired { key: it, .. }))) => it == key(NAME),
            Some(other) => panic!("{other:?}"),
        }
    }

    fn inside() -> Facts {
        Facts {
            shoot_api: ShootApi::Reachable,
            ..Facts::default()
        }
    }

    #[test]
    fn a_machine_that_has_not_joined_gets_a_new_token_if_it_has_none() {
        assert!(is_due(inside(), MachinePhase::Provisioning));
        let mut facts = inside();
        let token = ObservedObject {
            uid: "t".into(),
            version: "1".into(),
            hash: Hash(1),
            leaving: false,
            status: ObjectStatus::None,
        };
        facts.objects.insert(key(NAME), token);
        assert!(!is_due(facts, MachinePhase::Provisioning));
    }

    #[test]
    fn a_machine_that_has_joined_or_is_being_deleted_needs_no_token() {
        for look in [
            MachinePhase::Ready,
            MachinePhase::NotReady,
            MachinePhase::Failed,
            MachinePhase::Deleting,
        ] {
            assert!(!is_due(inside(), look), "{look:?}");
        }
        let mut facts = inside();
        let node = ObservedNode {
            serves: false,
            ..node()
        };
        facts.nodes.insert(NAME.into(), node);
        assert!(!is_due(facts, MachinePhase::Provisioning));
    }

    /// It is unknown whether a token exists.
    #[test]
    fn nothing_is_due_while_the_shoot_is_not_observed() {
        for inside in [ShootApi::Absent, ShootApi::Unreachable("no".into())] {
            let facts = Facts {
                shoot_api: inside,
                ..Facts::default()
            };
            assert!(!is_due(facts, MachinePhase::Provisioning));
        }
    }

    #[test]
    fn a_plan_contains_no_secret_part_of_a_token() {
        let site = Site {
            id: "shoot--dev--demo",
            namespace: "clusters",
            uid: "r",
        };
        let object = object(&site, NAME);
        let data = object["stringData"].as_object().expect("texts");
        assert!(!data.contains_key("token-secret") && !data.contains_key("expiration"));
        let name = object["metadata"]["name"].as_str().expect("a name");
        assert_eq!(*key(NAME).name, *format!("kube-system/{name}"));
        assert_eq!(
            name,
            format!(
                "bootstrap-token-{}",
                data["token-id"].as_str().expect("a text")
            )
        );
        assert_eq!(
            object["metadata"]["annotations"][names::TOKEN_MACHINE],
            NAME
        );
    }
}
