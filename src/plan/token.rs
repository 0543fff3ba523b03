//! Bootstrap tokens: one for each machine, until it has joined.

use super::item::{Action, Content, Key, Kind, State, Wanted};
use super::names::{self, TOKEN_GROUP, role};
use super::object::labels;
use super::observed::{Inside, Look, Machine, Observed};
use super::{Hash, Site};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn key(machine: &str) -> Key {
    let id = names::token_id(machine);
    Key::shoot(Kind::Token, format!("kube-system/bootstrap-token-{id}"))
}

/// Due for a machine that has not joined and has no token, because it expired or was never written.
pub(super) fn missing(observed: &Observed, name: &Arc<str>, machine: &Machine) -> Option<State> {
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

/// The Secret in the shoot, without the token's secret and expiry, which are added when it is written.
pub(super) fn object(site: &Site, machine: &str) -> Value {
    let id = names::token_id(machine);
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": format!("bootstrap-token-{id}"),
            "namespace": "kube-system",
            "labels": labels(site, role::TOKEN),
            "annotations": { names::SPEC_HASH: Hash::of(&machine).to_string(), names::TOKEN_MACHINE: machine },
        },
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "description": format!("for machine {machine}"),
            "token-id": id,
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": TOKEN_GROUP,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::observed::{Fact, Facts, Node, Object};
    use crate::plan::testing::{machine, node};

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
    fn a_machine_that_has_not_joined_gets_a_new_token_if_it_has_none() {
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
    fn a_machine_that_has_joined_or_is_being_deleted_needs_no_token() {
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

    /// It is unknown whether a token exists.
    #[test]
    fn nothing_is_due_while_the_shoot_is_not_observed() {
        for inside in [Inside::Absent, Inside::Unreachable("no".into())] {
            let facts = Facts {
                inside,
                ..Facts::default()
            };
            assert!(!is_due(facts, Look::Coming));
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
