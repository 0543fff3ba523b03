//! The item of the record.

use crate::plan::planner::Planner;
use crate::state::action::Action;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::state::record::wanted;
use crate::validate::ValidShoot;

pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot) -> Dependency {
    let observed = planner.observed;
    let wanted = wanted(shoot, &observed.facts);
    let state = match &observed.facts.record {
        Some(it) if it.leaving => ItemState::Waiting("the old record is terminating".into()),
        Some(it) if it.hash == wanted.hash => ItemState::Done,
        _ => ItemState::Due(Action::Apply(wanted)),
    };
    planner.add(
        ItemKind::Record,
        format!("Write record of shoot {}", shoot.name),
        [],
        state,
    )
}
