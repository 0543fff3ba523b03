//! Hibernation: machines are halted, then their nodes leave, then the control plane stops, etcd last. Disks, claims, keys,
//! addresses of Services and the record stay.
//!
//! The way back is the plan of every other shoot: whatever is stopped differs from what is wanted. Only halted machines
//! need an action of their own, in their slots.

use crate::plan::planner::Planner;
use crate::plan::pool::removal::gone;
use crate::plan::{control_plane, record};
use crate::state::action::{Action, DeleteTarget, Desired, Halt, HaltPurpose, Payload};
use crate::state::duty::Duty;
use crate::state::facts::{MachinePhase, MachineSleep, ObservedMachine, ShootApi};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind, ItemState, Plan};
use crate::state::record::hibernation::{
    HibernationChange, HibernationRecord, HibernationWish, obstacle,
};
use crate::validate::ValidShoot;
use std::sync::Arc;
use std::time::Duration;

/// The longest that the machines of a hibernating shoot are drained. With all nodes cordoned, pods that were evicted start
/// nowhere else, so that a longer time is of no use to disruption budgets.
const MAX_DRAIN: Duration = Duration::from_secs(15 * 60);
/// Beginning of the IDs of its items.
pub(super) const ITEM: &str = "hibernation/";
/// Time from the beginning of a run that nodes and pods may take to be observed. An API server that does not answer then
/// keeps no machine from being halted.
const API_PATIENCE: Duration = Duration::from_secs(60);

/// Returns true if the shoot is to hibernate. A new one is founded first.
pub(super) fn is_wanted(shoot: &ValidShoot, observed: &Observed) -> bool {
    let record = observed.facts.record.as_ref().filter(|it| !it.leaving);
    let record = record.filter(|it| it.etcd.is_some());
    record.is_some_and(|it| {
        let wish = wish(shoot, observed, &it.hibernation);
        it.hibernation.is_wanted(&wish)
    })
}

/// Plans the hibernation of a shoot. All done means that it hibernates.
pub(super) fn plan(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    let record = record::add(&mut planner, shoot);
    let mut needs = vec![record];
    needs.extend(follow(&mut planner, shoot, record));
    needs.push(settled(&mut planner, &needs));
    let halted = halt_machines(&mut planner, shoot, &needs);
    let mut needs = [needs, halted].concat();
    needs.extend(remove_nodes(&mut planner, &needs));
    needs.extend(control_plane::hibernate(&mut planner, shoot, &needs));
    complete(&mut planner, needs);
    planner.plan
}

/// Adds the item that writes the decision of a changed manifest to the record. None if it has not changed.
pub(super) fn follow(
    planner: &mut Planner,
    shoot: &ValidShoot,
    record: Dependency,
) -> Option<Dependency> {
    let observed = planner.observed;
    let known = observed.facts.record.as_ref().filter(|it| !it.leaving)?;
    let wish = wish(shoot, observed, &known.hibernation);
    if !known.hibernation.is_due(&wish) {
        return None;
    }
    let decides = known.hibernation.is_wanted(&wish);
    let title = match (known.hibernation.enabled, decides) {
        (false, true) => "Record that the shoot is to hibernate",
        (true, false) => "Record that the shoot is to wake",
        _ => "Record hibernation of the manifest",
    };
    let state = change(&known.name, HibernationChange::Follow(wish));
    let kind = item("decision");
    Some(planner.add(kind, title.to_owned(), [record], state))
}

fn wish(shoot: &ValidShoot, observed: &Observed, record: &HibernationRecord) -> HibernationWish {
    match observed.skipped.contains(&Duty::Hibernation) {
        true => HibernationWish::unchanged(record),
        false => {
            let hibernation = shoot.manifest.spec.hibernation.as_ref();
            HibernationWish::of(hibernation, record, observed.facts.time)
        }
    }
}

fn change(id: &Arc<str>, change: HibernationChange) -> ItemState {
    ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Record, id.clone()),
        hash: Hash::of(&change),
        payload: Payload::Hibernation(change),
    }))
}

/// Item: nothing is under way whose steps need what would be stopped.
fn settled(planner: &mut Planner, needs: &[Dependency]) -> Dependency {
    let record = planner.observed.facts.record.as_ref();
    let obstacle = record.and_then(|it| obstacle(&it.rotation, it.etcd.as_ref()));
    let state = match obstacle {
        None => ItemState::Done,
        Some(what) => {
            let message = format!(
                "{what} is under way: run kvshoot wake, which completes it, and hibernate again"
            );
            ItemState::Failed(Failure::new(ErrorClass::Missing, message))
        }
    };
    let title = "Check that nothing else is under way".to_owned();
    planner.add(item("settled"), title, needs, state)
}

/// The kind of one of its items.
pub(super) fn item(name: &str) -> ItemKind {
    format!("{ITEM}{name}").into()
}

/// One item per machine: drained, then halted.
fn halt_machines(
    planner: &mut Planner,
    shoot: &ValidShoot,
    needs: &[Dependency],
) -> Vec<Dependency> {
    let observed = planner.observed;
    let mut items = Vec::new();
    for (pool, name, machine) in observed.facts.machines() {
        let spec = shoot.pools.iter().find(|it| it.name == **pool);
        let limit = spec.map_or(MAX_DRAIN, |it| it.drain_timeout.min(MAX_DRAIN));
        let state = halt(planner, name, machine, limit);
        let kind = item(&format!("machine/{name}"));
        items.push(planner.add(kind, format!("Halt machine {name}"), needs, state));
    }
    items
}

fn halt(
    planner: &mut Planner,
    name: &Arc<str>,
    machine: &ObservedMachine,
    limit: Duration,
) -> ItemState {
    let observed = planner.observed;
    match (machine.phase, machine.sleep) {
        (MachinePhase::Deleting, _) => return ItemState::Waiting(gone(machine)),
        (_, MachineSleep::Halted) if &*machine.status == HALTED => return ItemState::Done,
        (_, MachineSleep::Halted) => {
            return ItemState::Waiting("the machine shuts down".to_owned());
        }
        _ => {}
    }
    // Otherwise its pods would end without notice.
    if observed.facts.shoot_api != ShootApi::Reachable && observed.now < API_PATIENCE {
        planner.plan.wake_at(API_PATIENCE);
        return ItemState::Waiting("its pods have not been observed yet".to_owned());
    }
    ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Machine, name.clone()),
        hash: Hash::of(&"halt"),
        payload: Payload::Halt(Halt {
            uid: machine.uid.clone(),
            is_marked: machine.sleep == MachineSleep::Entering,
            limit,
            purpose: HaltPurpose::Hibernation,
        }),
    }))
}

/// KubeVirt's status of a VM without an instance.
pub(crate) const HALTED: &str = "Stopped";

/// Nodes of halted machines leave, as they would by themselves once the cloud controller has noticed.
fn remove_nodes(planner: &mut Planner, needs: &[Dependency]) -> Vec<Dependency> {
    let facts = &planner.observed.facts;
    let record = facts.record.as_ref();
    let is_complete = record.is_some_and(|it| it.hibernation.complete);
    // What was observed of a shoot that is stopped is out of date.
    if facts.shoot_api != ShootApi::Reachable || is_complete {
        return Vec::new();
    }
    let ours = facts.nodes.iter().filter(|it| it.1.is_ours);
    let mut items = Vec::new();
    for (name, node) in ours {
        let key = ObjectKey::shoot(ObjectKind::Node, name.clone());
        let kind = ItemKind::deletion(&key, &node.uid);
        let state = ItemState::Due(Action::Delete(DeleteTarget {
            key,
            uid: node.uid.clone(),
            version: node.version.clone(),
            unless_ready: false,
            drain: None,
            zone_failure: None,
        }));
        items.push(planner.add(kind, format!("Delete node {name}"), needs, state));
    }
    items
}

/// The last item: the record says that everything is stopped.
fn complete(planner: &mut Planner, needs: Vec<Dependency>) {
    let Some(record) = &planner.observed.facts.record else {
        return;
    };
    let state = match record.hibernation {
        HibernationRecord {
            enabled: true,
            complete: true,
            ..
        } => ItemState::Done,
        _ => change(&record.name, HibernationChange::Complete),
    };
    let kind = item("complete");
    planner.add(kind, "Complete the hibernation".to_owned(), needs, state);
}

#[cfg(test)]
#[path = "hibernation_tests.rs"]
mod tests;
