//! Deletion of a shoot: by labels alone, without manifest and profile.

#[cfg(test)]
mod tests;
mod user_resource_cleanup;

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::plan::pool::removal::gone;
use crate::state::action::{Action, DeleteTarget};
use crate::state::facts::{MachinePhase, ObservedMachine, ObservedObject, ObservedRecord};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind, ItemState, Plan};
use std::sync::Arc;

/// Plans the deletion of a shoot: user resources, then machines, the control plane, objects they used, and the record.
/// All done means that nothing is left.
///
/// With `keep_volumes` the volumes of the shoot's users are not touched.
pub(crate) fn delete(observed: &Observed, keep_volumes: bool) -> Plan {
    let mut planner = Planner::new(observed);
    let mut needs = user_resource_cleanup::add(&mut planner, keep_volumes).to_vec();
    let of_guest: Arc<[Dependency]> = needs.as_slice().into();
    for (name, machine) in observed.facts.machines.values().flatten() {
        let key = ObjectKey::provider(ObjectKind::Machine, name.clone());
        let kind = ItemKind::deletion(&key, &machine.uid);
        let state = remove_machine(&key, machine);
        needs.push(planner.add(kind, title(&key), of_guest.clone(), state));
    }
    // Objects in the shoot are deleted with it.
    let ours = observed.facts.objects.iter();
    let mut objects: Vec<_> = ours
        .filter(|it| it.0.side == ClusterSide::Provider)
        .collect();
    objects.sort_by_key(|it| it.0);
    let (workloads, rest): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|it| is_workload(it.0.kind));
    remove(&mut planner, workloads, &mut needs);
    let left = user_resource_cleanup::outside(observed, keep_volumes);
    remove(&mut planner, [rest, left].concat(), &mut needs);
    // Left by an earlier shoot of the same name: its labels match, so it is deleted as well.
    let foreign = observed.facts.foreign.iter();
    for (key, object) in foreign.filter(|it| it.0.side == ClusterSide::Provider) {
        let kind = ItemKind::deletion(key, &object.uid);
        needs.push(planner.add(kind, title(key), [], removal(key, object)));
    }
    if let Some(record) = &observed.facts.record {
        planner.add(
            ItemKind::Record,
            "Delete the record".into(),
            needs,
            remove_record(record),
        );
    }
    planner.plan
}

/// Adds deletions that depend on all of `needs`, and appends them to it.
fn remove(
    planner: &mut Planner,
    objects: Vec<(&ObjectKey, &ObservedObject)>,
    needs: &mut Vec<Dependency>,
) {
    let before: Arc<[Dependency]> = needs.as_slice().into();
    for (key, object) in objects {
        let kind = ItemKind::deletion(key, &object.uid);
        let state = removal(key, object);
        needs.push(planner.add(kind, title(key), before.clone(), state));
    }
}

/// Its pods use the other objects, and would recreate load balancers and volumes.
fn is_workload(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Deployment | ObjectKind::StatefulSet)
}

fn remove_machine(key: &ObjectKey, machine: &ObservedMachine) -> ItemState {
    match machine.phase {
        MachinePhase::Deleting => ItemState::Waiting(gone(machine)),
        _ => ItemState::Due(Action::Delete(DeleteTarget {
            key: key.clone(),
            uid: machine.uid.clone(),
            version: machine.version.clone(),
            unless_ready: false,
            drain: None,
            zone_failure: None,
        })),
    }
}

fn remove_record(record: &ObservedRecord) -> ItemState {
    if record.leaving {
        return ItemState::Waiting("the record is terminating".into());
    }
    ItemState::Due(Action::Delete(DeleteTarget {
        key: ObjectKey::provider(ObjectKind::Record, record.name.clone()),
        uid: record.uid.clone(),
        version: record.version.clone(),
        unless_ready: false,
        drain: None,
        zone_failure: None,
    }))
}
