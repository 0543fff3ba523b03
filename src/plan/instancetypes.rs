//! Items for the shoot's own instancetypes and preferences.

use crate::plan::planner::{Planner, present};
use crate::state::action::{Content, Wanted};
use crate::state::desired::instancetypes::{Meant, own, role};
use crate::state::failure::Failure;
use crate::state::hash::Hash;
use crate::state::key::Key;
use crate::state::plan::{Need, State};
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Items of the shoot's own types.
pub(crate) type Own = BTreeMap<Key, Need>;

/// A pool may name its kind, and another one leave it out: it is one object all the same.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot, record: Need) -> Own {
    let observed = planner.observed;
    let mut all = Own::new();
    for (key, relied, meant) in own(shoot, &observed.facts) {
        if all.contains_key(&key) {
            continue;
        }
        let state = match (meant, observed.facts.unseen.get(&key.kind)) {
            (Meant::Ours(_), Some(why)) => {
                let message = format!("{relied} cannot be kept: {}", why.message);
                State::Failed(Failure::new(why.class, message))
            }
            (Meant::Ours(spec), None) => present(observed, wanted(&key, &spec), |_| State::Done),
            _ => State::Done,
        };
        let id = format!("{}/{}", role(key.kind), key.name).into();
        let need = planner.add(id, format!("Apply {relied}"), [record], state);
        all.insert(key, need);
    }
    all
}

fn wanted(key: &Key, spec: &Arc<Value>) -> Wanted {
    Wanted {
        key: key.clone(),
        hash: Hash::of(&**spec),
        content: Content::Plain,
    }
}

#[cfg(test)]
#[path = "instancetypes_tests.rs"]
mod tests;
