//! Bootstrap tokens: one for each machine, for as long as it takes to join.

use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::{Inside, Look, Machine};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::names::{self};
use crate::state::observed::Observed;
use crate::state::plan::State;
use std::sync::Arc;

pub(crate) fn key(machine: &str) -> Key {
    let id = names::token_id(machine);
    Key::shoot(Kind::Token, format!("kube-system/bootstrap-token-{id}"))
}

/// Due for a machine that has not joined, and whose token has expired or was never written.
pub(crate) fn missing(observed: &Observed, name: &Arc<str>, machine: &Machine) -> Option<State> {
    let facts = &observed.facts;
    let key = key(name);
    let joins = facts.inside == Inside::Observed
        && machine.look == Look::Coming
        && !facts.nodes.contains_key(name)
        && !facts.objects.contains_key(&key);
    joins.then(|| {
        State::Due(Action::Apply(Wanted {
            key,
            hash: Hash::of(&&**name),
            content: Content::Token {
                machine: name.clone(),
            },
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::machine::token::object;
    use crate::state::facts::{Fact, Facts, Node, Object};
    use crate::state::site::Site;
    use crate::state::testing::{machine, node};

    const NAME: &str = "shoot--dev--demo-cpu-z1-abcde-0";

    fn is_due(facts: Facts, look: Look) -> bool {
        let observed = Observed {
            facts: facts.into(),
            ..Observed::default()
        };
        let state = missing(&observed, &NAME.into(), &machine(look));
        match state {
            None => false,
            Some(State::Due(Action::Apply(Wanted { key: it, .. }))) => it == key(NAME),
            Some(other) => panic!("{other:?}"),
        }
    }

    fn inside() -> Facts {
        Facts {
            inside: Inside::Observed,
            ..Facts::default()
        }
    }

    #[test]
    fn a_machine_that_has_not_joined_gets_another_token_when_its_own_is_gone() {
        assert!(is_due(inside(), Look::Coming));
        let mut facts = inside();
        let token = Object {
            uid: "t".into(),
            version: "1".into(),
            hash: Hash(1),
            leaving: false,
            fact: Fact::None,
        };
        facts.objects.insert(key(NAME), token);
        assert!(!is_due(facts, Look::Coming));
    }

    #[test]
    fn who_has_joined_or_is_going_needs_none() {
        for look in [Look::Ready, Look::NotReady, Look::Broken, Look::Deleting] {
            assert!(!is_due(inside(), look), "{look:?}");
        }
        let mut facts = inside();
        let node = Node {
            serves: false,
            ..node()
        };
        facts.nodes.insert(NAME.into(), node);
        assert!(!is_due(facts, Look::Coming));
    }

    /// Whether one is there cannot be seen.
    #[test]
    fn nothing_is_due_while_the_shoot_is_not_looked_at() {
        for inside in [Inside::Absent, Inside::Unreachable("no".into())] {
            let facts = Facts {
                inside,
                ..Facts::default()
            };
            assert!(!is_due(facts, Look::Coming));
        }
    }

    #[test]
    fn a_plan_holds_nothing_secret_of_it() {
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
