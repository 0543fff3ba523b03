//! What a first apply would make.

use crate::render::objects;
use crate::state::facts::{Facts, Inside, Record};
use crate::state::hash::Hash;
use crate::state::key::Side;
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::State;
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Every object that a first apply would make, with its side and in order: what is due where nothing is there yet.
///
/// What the provider assigns is not known: addresses are 0.0.0.0, and Secrets of keys and certificates are empty.
pub(crate) fn first_apply(shoot: &ValidShoot, facts: &Facts) -> Vec<(Side, Value)> {
    let nothing = Facts {
        record: facts.record.clone().map(|it| Record {
            hash: Hash::default(),
            leaving: false,
            ..it
        }),
        objects: HashMap::new(),
        machines: BTreeMap::new(),
        foreign: BTreeMap::new(),
        nodes: BTreeMap::new(),
        inside: Inside::Observed,
        ..facts.clone()
    };
    let observed = Observed {
        facts: nothing.into(),
        ahead: true,
        ..Observed::default()
    };
    let plan = super::plan(shoot, &observed);
    let mut all = Vec::new();
    for item in &plan.items {
        let State::Due(action) = &item.state else {
            continue;
        };
        for object in objects(shoot, &observed.facts, action) {
            // A machine comes with its token.
            let is_token = object["metadata"]["labels"][names::COMPONENT] == names::role::TOKEN;
            let side = if is_token {
                Side::Shoot
            } else {
                action.key().side
            };
            all.push((side, object));
        }
    }
    all
}
