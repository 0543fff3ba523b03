//! The items of the record and of the Secret with the manifest.

use crate::plan::planner::{Planner, present};
use crate::state::action::{Action, Desired};
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::state::record::{manifest_secret, wanted};
use crate::validate::ValidShoot;
use std::sync::Arc;

/// Adds the record, and the Secret with the manifest if there is user data. The Secret is written first, so that no record
/// refers to a missing one, except in a new shoot: the record owns the Secret. The returned item waits for both.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot) -> Dependency {
    let facts = &planner.observed.facts;
    let hash = wanted(shoot, facts).hash;
    let existing = facts.record.as_ref().filter(|it| !it.leaving);
    let is_edit = existing.is_some_and(|it| it.hash != hash);
    match (manifest_secret::wanted(shoot), is_edit) {
        (None, _) => add_record(planner, shoot, []),
        (Some(secret), true) => {
            let secret = add_secret(planner, secret, []);
            add_record(planner, shoot, [secret])
        }
        (Some(secret), false) => {
            let record = add_record(planner, shoot, []);
            add_secret(planner, secret, [record])
        }
    }
}

fn add_record(
    planner: &mut Planner,
    shoot: &ValidShoot,
    needs: impl Into<Arc<[Dependency]>>,
) -> Dependency {
    let observed = planner.observed;
    let wanted = wanted(shoot, &observed.facts);
    let state = match &observed.facts.record {
        Some(it) if it.leaving => ItemState::Waiting("the old record is terminating".into()),
        Some(it) if it.hash == wanted.hash => ItemState::Done,
        _ => ItemState::Due(Action::Apply(wanted)),
    };
    let title = format!("Write record of shoot {}", shoot.name);
    planner.add(ItemKind::Record, title, needs, state)
}

fn add_secret(
    planner: &mut Planner,
    wanted: Desired,
    needs: impl Into<Arc<[Dependency]>>,
) -> Dependency {
    planner.plan.parts.insert(wanted.key.clone());
    let kind = ItemKind::Manifest(wanted.key.name.clone());
    let title = "Write the manifest with user data".to_owned();
    let state = present(planner.observed, wanted, |_| ItemState::Done);
    planner.add(kind, title, needs, state)
}

#[cfg(test)]
mod tests;
