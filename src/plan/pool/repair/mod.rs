//! Repair of machines whose nodes are not healthy: restart, then replacement within the bounds of the pool.

#[cfg(test)]
mod histories_tests;
mod judge;

use super::pool_state::PoolState;
use super::rolling_update::RollingPhase;
use super::target::PoolTarget;
use crate::state::action::{Action, Desired, Payload, Repair, RepairKind};
use crate::state::duty::Duty;
use crate::state::facts::{
    MachinePhase, MachineSleep, NodeConditions, ObservedMachine, RecoveredFault, ShootApi,
};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use judge::{
    JudgedMachine, RepairInput, is_suspected, judge, recent, recovered_fault, server_time,
};
pub(crate) use judge::{RepairDecision, RepairSettings};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Decisions about the machines of a pool, by name. Healthy ones have none.
pub(super) fn decisions(
    observed: &Observed,
    target: &PoolTarget,
    pool_state: &PoolState<'_>,
) -> BTreeMap<Arc<str>, RepairDecision> {
    let facts = &observed.facts;
    let is_off = observed.skipped.contains(&Duty::Repair);
    let Some(settings) = target.repair.as_ref().filter(|_| !is_off) else {
        return BTreeMap::new();
    };
    if facts.shoot_api != ShootApi::Reachable {
        return BTreeMap::new();
    }
    let staying = pool_state.machines.iter().zip(&pool_state.judged);
    let staying = staying.filter(|it| !is_leaving(it.1.phase));
    let machines: Vec<JudgedMachine<'_>> = staying
        .map(|((name, machine), _)| judged(observed, name, machine))
        .collect();
    if !machines.iter().any(|it| is_suspected(it, settings)) {
        return BTreeMap::new();
    }
    let record = facts.record.as_ref();
    judge(&RepairInput {
        settings,
        health: facts.health.as_deref(),
        now: observed.now,
        machines,
        zones: zones(observed, settings),
        recovered: recovered(observed),
        busy: busy(observed, target, pool_state),
        repairs: record.map_or(&[], |it| &it.repairs),
    })
}

/// Title and state of the item that carries out a restart that was decided, by repair or by a user; None once the machine
/// has another instance.
pub(super) fn decided(
    name: &Arc<str>,
    machine: &ObservedMachine,
    observed: &Observed,
) -> Option<(String, ItemState)> {
    let restart = machine.instance.restart.as_ref()?;
    let title = format!("Restart machine {name}");
    let Some(instance) = machine.instance.uid.clone() else {
        let why = "its next instance does not run yet";
        return Some((title, ItemState::Waiting(why.to_owned())));
    };
    if restart.of != instance {
        return None;
    }
    let time = restart.at;
    let kind = RepairKind::Restart {
        instance,
        is_decided: true,
    };
    let state = due(observed, time, name, machine, kind);
    Some((title, state))
}

/// Title and state of the item that repairs a machine; None if there is nothing to do now.
pub(super) fn item(
    observed: &Observed,
    name: &Arc<str>,
    machine: &ObservedMachine,
    decision: &RepairDecision,
) -> Option<(String, ItemState)> {
    let health = observed.facts.health.as_deref()?;
    let (title, kind) = match decision {
        RepairDecision::Wait(_) => return None,
        RepairDecision::Restart(why) => {
            let instance = machine.instance.uid.clone()?;
            let kind = RepairKind::Restart {
                instance,
                is_decided: false,
            };
            (format!("Restart machine {name} ({why})"), kind)
        }
        RepairDecision::Replace(why) => {
            let kind = RepairKind::Replace(why.as_str().into());
            (format!("Mark machine {name} for replacement ({why})"), kind)
        }
    };
    let time = server_time(observed.now, health);
    Some((title, due(observed, time, name, machine, kind)))
}

fn due(
    observed: &Observed,
    time: i64,
    name: &Arc<str>,
    machine: &ObservedMachine,
    kind: RepairKind,
) -> ItemState {
    let record = observed.facts.record.as_ref();
    let repairs = record.map_or(&[][..], |it| &it.repairs);
    // Its time and its reason change from look to look, and do not make it another request.
    let is_restart = matches!(kind, RepairKind::Restart { .. });
    let hash = Hash::of(&(&*machine.uid, machine.instance.uid.as_deref(), is_restart));
    ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Machine, name.clone()),
        hash,
        payload: Payload::Repair(Repair {
            uid: machine.uid.clone(),
            kind,
            time,
            earlier: recent(repairs, time).collect(),
        }),
    }))
}

fn is_leaving(phase: RollingPhase) -> bool {
    matches!(phase, RollingPhase::Draining | RollingPhase::Deleting)
}

fn judged<'a>(
    observed: &'a Observed,
    name: &'a Arc<str>,
    machine: &'a ObservedMachine,
) -> JudgedMachine<'a> {
    let node = observed.facts.nodes.get(name);
    JudgedMachine {
        name,
        zone: &machine.placement.zone,
        host: machine.placement.host.as_ref(),
        runs: machine.instance.is_running,
        has_joined: matches!(machine.phase, MachinePhase::Ready | MachinePhase::NotReady),
        node: node.map(|it| -> &NodeConditions { &it.conditions }),
        instance: &machine.instance,
    }
}

/// Machines of all pools by zone: suspected ones, and all.
fn zones(observed: &Observed, settings: &RepairSettings) -> BTreeMap<String, (usize, usize)> {
    let mut zones: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (name, machine) in observed.facts.machines.values().flatten() {
        let judged = judged(observed, name, machine);
        let zone = zones.entry(judged.zone.to_owned()).or_default();
        zone.0 += usize::from(is_suspected(&judged, settings));
        zone.1 += 1;
    }
    zones
}

fn recovered(observed: &Observed) -> Vec<RecoveredFault> {
    let Some(health) = observed.facts.health.as_deref() else {
        return Vec::new();
    };
    let machines = observed.facts.machines.values().flatten();
    let recovered = |(name, machine)| recovered_fault(&judged(observed, name, machine), health);
    machines.filter_map(recovered).collect()
}

/// Why the pool is not repaired now.
fn busy(
    observed: &Observed,
    target: &PoolTarget,
    pool_state: &PoolState<'_>,
) -> Option<&'static str> {
    let record = observed.facts.record.as_ref();
    if record.is_some_and(|it| it.operation.is_some()) {
        return Some("keys are being rotated");
    }
    let is_restarted = pool_state
        .machines
        .iter()
        .any(|it| it.1.sleep != MachineSleep::Awake);
    let is_moving = is_restarted || !pool_state.is_settled(target);
    is_moving.then_some("the pool is being changed")
}
