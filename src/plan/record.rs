//! The item of the record.

use crate::plan::planner::Planner;
use crate::state::action::Action;
use crate::state::plan::{Need, State};
use crate::state::record::wanted;
use crate::validate::ValidShoot;

pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot) -> Need {
    let observed = planner.observed;
    let wanted = wanted(shoot, &observed.facts);
    let state = match &observed.facts.record {
        Some(it) if it.leaving => State::Waiting("the old one to be gone".into()),
        Some(it) if it.hash == wanted.hash => State::Done,
        _ => State::Due(Action::Apply(wanted)),
    };
    planner.add(
        "record".to_owned().into(),
        format!("Record shoot {}", shoot.name),
        [],
        state,
    )
}
