//! Machines that must go: when, and whether they are drained first.

use super::consumers::Users;
use super::pool_state::Seen;
use super::rolling_update::Phase;
use super::target::Wants;
use crate::plan::planner::Planner;
use crate::state::action::{Action, Setback, Target};
use crate::state::facts::{Look, Machine};
use crate::state::failure::Class;
use crate::state::key::{Key, Kind};
use crate::state::plan::{Id, Need, State};
use std::collections::HashSet;
use std::sync::Arc;

pub(crate) fn add(
    planner: &mut Planner,
    wants: &Wants,
    seen: &Seen,
    late: &HashSet<usize>,
    places: &Arc<[Need]>,
    users: &mut Users,
) {
    for (index, (name, machine)) in seen.machines.iter().enumerate() {
        let Some((state, needs)) = removal(wants, seen, late, places, index) else {
            users.staying.insert((*name).clone());
            continue;
        };
        let id: Id = format!("remove/{}", machine.uid).into();
        let why = match machine.evacuating {
            true => " from a host that is being emptied",
            false => "",
        };
        let title = format!("Remove machine {name}{why}");
        let need = planner.add(id, title, needs, state);
        let used = machine.networks.iter().chain(&machine.image);
        let used = used.chain(machine.types.iter());
        for used in used.chain([*name]) {
            users.leaving.entry(used.clone()).or_default().push(need);
        }
    }
}

fn removal(
    wants: &Wants,
    seen: &Seen,
    late: &HashSet<usize>,
    places: &Arc<[Need]>,
    index: usize,
) -> Option<(State, Arc<[Need]>)> {
    let (_, machine) = seen.machines[index];
    let phase = seen.judged[index].phase;
    let free: Arc<[Need]> = Arc::new([]);
    let delete = || State::Due(Action::Delete(target(wants, seen, index)));
    let drain = || State::Due(Action::Drain(target(wants, seen, index)));
    let chosen = seen.chosen.contains(&index);
    let outdated = seen.judged[index].hash != wants.hash;
    Some(match (machine.look, phase) {
        (Look::Deleting, _) => (State::Waiting(gone(machine)), free),
        (Look::Drained, _) => (delete(), free),
        // Begun, and perhaps cut off: to begin again does no harm.
        (Look::Draining, _) => (drain(), free),
        // Sent, and not answered: it says so by itself.
        (_, Phase::Deleting) => (delete(), free),
        (_, Phase::Draining) => (drain(), free),
        (_, Phase::Creating | Phase::Failed) if chosen => (delete(), free),
        // What serves goes only when all that its successor needs is there.
        _ if chosen && outdated => (drain(), wants.needs(machine.zone)),
        _ if chosen => (drain(), free),
        // Too much, or outdated, but still needed.
        _ if outdated || late.contains(&index) => (State::Blocked, places.clone()),
        _ => return None,
    })
}

/// What a machine that was deleted waits for.
pub(crate) fn gone(machine: &Machine) -> String {
    machine.cause.as_deref().map_or_else(
        || "it to be gone".to_owned(),
        |it| format!("it to be gone: {it}"),
    )
}

fn target(wants: &Wants, seen: &Seen, index: usize) -> Target {
    let ((name, machine), phase) = (seen.machines[index], seen.judged[index].phase);
    let setback = (phase == Phase::Failed).then(|| Setback {
        pool: wants.pool.clone(),
        hash: seen.judged[index].hash,
        zone: machine.zone,
        class: match machine.runs {
            true => Class::Guest,
            false => Class::Infrastructure,
        },
        why: machine.cause.clone().unwrap_or(machine.status.clone()),
    });
    Target {
        key: Key::provider(Kind::Machine, name.clone()),
        uid: machine.uid.clone(),
        version: machine.version.clone(),
        unless_ready: !matches!(phase, Phase::Ready | Phase::Deleting | Phase::Draining),
        drain: Some(wants.drain_limit),
        setback,
    }
}
