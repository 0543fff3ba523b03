//! Machines that get another size, or larger disks, by a restart, one after another within the bounds of their pool.
//!
//! Each is marked, emptied and halted as for hibernation, and started with its new size. Every step is decided by what is
//! observed, so that any run can continue it.

use crate::plan::hibernation::HALTED;
use crate::plan::pool::pool_state::PoolState;
use crate::plan::pool::rolling_update::RollingPhase;
use crate::plan::pool::target::PoolTarget;
use crate::state::action::{Action, Desired, Halt, HaltPurpose, MachineResize, Payload};
use crate::state::desired::machine_content::DiskGrowth;
use crate::state::facts::{MachinePhase, MachineSleep, ObservedMachine};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::plan::ItemState;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Indexes of the machines that may be worked on now: those that were begun, and others within the bounds, unless something else
/// of the pool is under way.
pub(in crate::plan::pool) fn begin(
    target: &PoolTarget,
    pool_state: &PoolState<'_>,
) -> BTreeSet<usize> {
    let phase = |index: usize| pool_state.judged[index].phase;
    let is_begun = |it: &usize| {
        let machine = pool_state.machines[*it].1;
        machine.sleep != MachineSleep::Awake || pool_state.halting.contains(it)
    };
    let all = pool_state.resizes.iter().copied();
    let (mut now, waiting): (BTreeSet<usize>, BTreeSet<usize>) = all.partition(is_begun);
    let is_moving = !pool_state.is_settled(target)
        || !pool_state.create.is_empty()
        || !pool_state.chosen.is_empty();
    if is_moving {
        return now;
    }
    let is_ready = |it: &usize| phase(*it) == RollingPhase::Ready;
    let ready = (0..pool_state.machines.len()).filter(is_ready).count();
    let desired: usize = target.targets.iter().sum();
    // Machines that are missing are unavailable too, for example where a zone was given up.
    let floor = desired.saturating_sub(target.unavailable.max(1));
    let mut budget = ready.saturating_sub(floor);
    for index in waiting {
        // One that does not serve anyway takes nothing from the budget.
        let is_free = phase(index) == RollingPhase::NotReady;
        if is_free || budget > 0 {
            budget -= usize::from(!is_free);
            now.insert(index);
        }
    }
    now
}

/// Title and state of the slot of a machine that gets another size.
pub(in crate::plan::pool) fn work(
    target: &PoolTarget,
    pool_state: &PoolState<'_>,
    index: usize,
) -> (String, ItemState) {
    let (name, machine) = pool_state.machines[index];
    let is_ready = machine.phase == MachinePhase::Ready;
    let what = gains(target, machine);
    let halt = format!("Drain and halt machine {name}, to restart it with {what}");
    let start = format!("Start machine {name} with {what}");
    match machine.sleep {
        _ if !pool_state.resize_now.contains(&index) => (halt, ItemState::Blocked),
        MachineSleep::Halted if &*machine.status != HALTED => {
            let why = "the machine shuts down".to_owned();
            (start, ItemState::Waiting(why))
        }
        MachineSleep::Halted => {
            let payload = Payload::Start {
                uid: machine.uid.clone(),
                resize: Some(MachineResize {
                    pool: target.pool.clone(),
                    disks: growth(target, name, machine),
                }),
            };
            (start, due(target, name, payload))
        }
        sleep => {
            let payload = Payload::Halt(Halt {
                uid: machine.uid.clone(),
                is_marked: sleep == MachineSleep::Entering,
                // The kubelet of a node that is not ready ends no pods.
                limit: if is_ready {
                    target.drain_limit
                } else {
                    Duration::ZERO
                },
                purpose: HaltPurpose::Resize(growth(target, name, machine)),
            });
            (halt, due(target, name, payload))
        }
    }
}

/// The size and the disks that a machine gets by its restart, in words.
fn gains(target: &PoolTarget, machine: &ObservedMachine) -> String {
    let contents = machine.content.as_ref().zip(target.content.as_ref());
    let gains = contents.map(|it| {
        it.0.gains(it.1, &target.machine_size, &target.disks_in_words)
    });
    gains.unwrap_or_default()
}

fn growth(target: &PoolTarget, name: &Arc<str>, machine: &ObservedMachine) -> Arc<[DiskGrowth]> {
    let contents = machine.content.as_ref().zip(target.content.as_ref());
    let claim = |index: usize| match index.checked_sub(1) {
        None => name.clone(),
        Some(index) => names::data_volume(name, index).into(),
    };
    contents.map_or_else(|| [].into(), |(own, wanted)| own.growth(wanted, claim))
}

fn due(target: &PoolTarget, name: &Arc<str>, payload: Payload) -> ItemState {
    ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Machine, name.clone()),
        hash: target.hash,
        payload,
    }))
}

#[cfg(test)]
#[path = "resize_tests.rs"]
mod tests;
