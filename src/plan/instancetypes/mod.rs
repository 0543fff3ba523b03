//! Items for the shoot's own instancetypes and preferences.

use crate::plan::planner::{Planner, present};
use crate::state::action::{Desired, Payload};
use crate::state::desired::instancetypes::{ResolvedType, owned_types};
use crate::state::failure::Failure;
use crate::state::hash::Hash;
use crate::state::key::ObjectKey;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Items of the shoot's own types.
pub(crate) type OwnedTypes = BTreeMap<ObjectKey, Dependency>;

/// Pools may give the kind or omit it; it is the same object.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot, record: Dependency) -> OwnedTypes {
    let observed = planner.observed;
    let mut all = OwnedTypes::new();
    for (key, prerequisite, resolved) in owned_types(shoot, &observed.facts) {
        if all.contains_key(&key) {
            continue;
        }
        let state = match (resolved, observed.facts.unreadable.get(&key.kind)) {
            (ResolvedType::Owned(_), Some(why)) => {
                let message = format!("{prerequisite} cannot be created: {}", why.message);
                ItemState::Failed(Failure::new(why.class, message))
            }
            (ResolvedType::Owned(spec), None) => {
                present(observed, wanted(&key, &spec), |_| ItemState::Done)
            }
            _ => ItemState::Done,
        };
        let kind = ItemKind::MachineType {
            key: key.clone(),
            text: prerequisite.to_string().into(),
        };
        let need = planner.add(kind, format!("Apply {prerequisite}"), [record], state);
        all.insert(key, need);
    }
    all
}

fn wanted(key: &ObjectKey, spec: &Arc<Value>) -> Desired {
    Desired {
        key: key.clone(),
        hash: Hash::of(&**spec),
        payload: Payload::Plain,
    }
}

#[cfg(test)]
mod tests;
