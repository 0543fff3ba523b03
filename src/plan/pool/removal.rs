//! Removal of machines: when, and whether they are drained first.

use super::consumers::Consumers;
use super::pool_state::PoolState;
use super::rolling_update::RollingPhase;
use super::target::PoolTarget;
use crate::plan::planner::Planner;
use crate::state::action::{Action, DeleteTarget, ZoneFailure};
use crate::state::facts::{Evacuation, MachinePhase, MachineSleep, ObservedMachine};
use crate::state::failure::ErrorClass;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::plan::{Dependency, ItemKind, ItemState};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn add(
    planner: &mut Planner,
    target: &PoolTarget,
    pool_state: &PoolState,
    surplus: &HashSet<usize>,
    places: &Arc<[Dependency]>,
    consumers: &mut Consumers,
) {
    for (index, (name, machine)) in pool_state.machines.iter().enumerate() {
        let Some((state, needs)) = removal(target, pool_state, surplus, places, index) else {
            consumers.staying.insert((*name).clone());
            // A restart with a larger root disk ends its use of the image volume of the former size.
            let image = machine.image.as_ref();
            if let Some(image) = image.filter(|_| pool_state.resizes.contains(&index)) {
                let users = consumers.leaving.entry(image.clone()).or_default();
                users.extend(places.iter());
            }
            continue;
        };
        let key = ObjectKey::provider(ObjectKind::Machine, (*name).clone());
        let why = match &machine.instance.replace {
            _ if target.deleted.contains(&*machine.uid) => " (to make the pool smaller)".to_owned(),
            _ if machine.evacuation == Some(Evacuation::Replacement) => {
                " (its host is being drained)".to_owned()
            }
            Some(why) => format!(" ({why})"),
            None => String::new(),
        };
        let title = format!("Delete machine {name}{why}");
        let need = planner.add(ItemKind::deletion(&key, &machine.uid), title, needs, state);
        let used = machine
            .networks
            .iter()
            .chain(&machine.image)
            .chain(machine.types.iter());
        for used in used.chain([*name]) {
            consumers
                .leaving
                .entry(used.clone())
                .or_default()
                .push(need);
        }
    }
}

fn removal(
    target: &PoolTarget,
    pool_state: &PoolState,
    surplus: &HashSet<usize>,
    places: &Arc<[Dependency]>,
    index: usize,
) -> Option<(ItemState, Arc<[Dependency]>)> {
    let (_, machine) = pool_state.machines[index];
    let phase = pool_state.judged[index].phase;
    let free: Arc<[Dependency]> = Arc::new([]);
    let delete = || ItemState::Due(Action::Delete(delete_target(target, pool_state, index)));
    let drain = || ItemState::Due(Action::Drain(delete_target(target, pool_state, index)));
    let chosen = pool_state.chosen.contains(&index);
    let is_replaced = pool_state.judged[index].hash != target.hash;
    let is_outdated = is_replaced || pool_state.resizes.contains(&index);
    Some(match (machine.phase, phase) {
        (MachinePhase::Deleting, _) => (ItemState::Waiting(gone(machine)), free),
        (MachinePhase::Drained, _) => (delete(), free),
        // Draining may have been interrupted; starting again is safe.
        (MachinePhase::Draining, _) => (drain(), free),
        // Sent and not answered yet.
        (_, RollingPhase::Deleting) => (delete(), free),
        (_, RollingPhase::Draining) => (drain(), free),
        (_, RollingPhase::Creating | RollingPhase::Failed) if chosen => (delete(), free),
        // A ready machine is removed only when all dependencies of its successor are done.
        _ if chosen && is_outdated => (drain(), target.needs(machine.zone)),
        _ if chosen => (drain(), free),
        // Surplus or outdated, but still needed.
        _ if is_replaced || surplus.contains(&index) => (ItemState::Blocked, places.clone()),
        _ => return None,
    })
}

/// Waiting reason of a deleted machine.
pub(crate) fn gone(machine: &ObservedMachine) -> String {
    machine.cause.as_deref().map_or_else(
        || "the machine is terminating".to_owned(),
        |it| format!("the machine is terminating: {it}"),
    )
}

fn delete_target(target: &PoolTarget, pool_state: &PoolState, index: usize) -> DeleteTarget {
    let ((name, machine), phase) = (pool_state.machines[index], pool_state.judged[index].phase);
    let setback = (phase == RollingPhase::Failed).then(|| ZoneFailure {
        pool: target.pool.clone(),
        hash: pool_state.judged[index].hash,
        zone: machine.zone,
        class: match machine.runs {
            true => ErrorClass::Guest,
            false => ErrorClass::Infrastructure,
        },
        why: machine.cause.clone().unwrap_or(machine.status.clone()),
    });
    // It does not count as ready while it is halted, but its node may still be.
    let is_halting = machine.sleep != MachineSleep::Awake && machine.phase == MachinePhase::Ready;
    let is_counted = matches!(
        phase,
        RollingPhase::Ready | RollingPhase::Deleting | RollingPhase::Draining
    );
    DeleteTarget {
        key: ObjectKey::provider(ObjectKind::Machine, name.clone()),
        uid: machine.uid.clone(),
        version: machine.version.clone(),
        unless_ready: !is_counted && !is_halting,
        drain: Some(match machine.sleep {
            // No kubelet ends its pods.
            MachineSleep::Halted => Duration::ZERO,
            _ => target.drain_limit,
        }),
        zone_failure: setback,
    }
}
