//! Preview of a first apply.

use crate::render::objects;
use crate::state::action::Action;
use crate::state::facts::{Facts, ObservedRecord, ShootApi};
use crate::state::hash::Hash;
use crate::state::key::ClusterSide;
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Every object that a first apply would create, with its cluster, in order.
///
/// Values assigned by the provider are unknown: addresses are 0.0.0.0, and Secrets with keys and certificates are
/// empty.
pub(crate) fn first_apply(shoot: &ValidShoot, facts: &Facts) -> Vec<(ClusterSide, Value)> {
    let nothing = Facts {
        record: facts.record.clone().map(|record| ObservedRecord {
            hash: Hash::default(),
            leaving: false,
            etcd: None,
            ..record
        }),
        objects: HashMap::new(),
        machines: BTreeMap::new(),
        foreign: BTreeMap::new(),
        nodes: BTreeMap::new(),
        shoot_api: ShootApi::Reachable,
        etcd: None,
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
        let ItemState::Due(Action::Apply(desired)) = &item.state else {
            continue;
        };
        for object in objects(shoot, &observed.facts, desired) {
            // The action that creates a machine also writes its token.
            let is_token = object["metadata"]["labels"][names::COMPONENT] == names::role::TOKEN;
            let side = if is_token {
                ClusterSide::Shoot
            } else {
                desired.key.side
            };
            all.push((side, object));
        }
    }
    all
}
