//! Bootstrap tokens: one for each machine, for as long as it takes to join.

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

/// Due for a machine that has not joined, and whose token has expired or was never written.
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

/// The Secret in the shoot; what makes it secret, and until when it holds, is filled in when it is written.
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
