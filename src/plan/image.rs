//! Golden volumes: one import for each image, size and class, and clones for the machines.

use crate::plan::planner::{Planner, present};
use crate::state::action::{Content, Wanted};
use crate::state::desired::Golden;
use crate::state::facts::{Fact, Import};
use crate::state::failure::{Class, Failure};
use crate::state::key::{Key, Kind};
use crate::state::plan::{Need, State};
use std::sync::Arc;

pub(crate) fn add(planner: &mut Planner, golden: &Golden, needs: &Arc<[Need]>) -> Need {
    let observed = planner.observed;
    let wanted = Wanted {
        key: Key::provider(Kind::Image, golden.name.clone()),
        hash: golden.hash,
        content: Content::Plain,
    };
    let state = present(observed, wanted, |it| match &it.fact {
        Fact::Image(import) => progress(golden, import),
        _ => State::Waiting("the import to begin".into()),
    });
    planner.add(
        format!("image/{}", golden.name).into(),
        title(golden),
        needs.clone(),
        state,
    )
}

fn title(golden: &Golden) -> String {
    let zone = golden
        .zone
        .as_ref()
        .map(|it| format!(" in zone {it}"))
        .unwrap_or_default();
    format!(
        "Import image {} {} ({} on {}{zone})",
        golden.image, golden.version, golden.volume.size, golden.volume.class
    )
    .replace("  ", " ")
}

fn progress(golden: &Golden, import: &Import) -> State {
    if import.done {
        return State::Done;
    }
    if let Some(words) = &import.failed {
        return State::Failed(Failure::new(
            Class::Infrastructure,
            format!("the import of {} failed: {words}", golden.source.told()),
        ));
    }
    let Some(percent) = import.percent else {
        return State::Waiting(
            import
                .waits
                .as_deref()
                .unwrap_or("the import to begin")
                .into(),
        );
    };
    let speed = import
        .speed
        .map(|it| format!(", {} MiB/s", it >> 20))
        .unwrap_or_default();
    let waits = import
        .waits
        .as_ref()
        .map(|it| format!(": {it}"))
        .unwrap_or_default();
    State::Waiting(format!("{percent:.0} % imported{speed}{waits}"))
}
