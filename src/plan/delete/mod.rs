//! What is to be done to be rid of a shoot: by labels alone, without manifest and profile.

#[cfg(test)]
mod tests;
mod user_resource_cleanup;

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::plan::pool::removal::gone;
use crate::state::action::{Action, Target};
use crate::state::facts::{Look, Machine, Object, Record};
use crate::state::key::{Key, Kind, Side};
use crate::state::observed::Observed;
use crate::state::plan::{Id, Need, Plan, State};
use std::sync::Arc;

/// What users have in the provider through the shoot, then machines, the control plane, what all of them used, and the
/// record. All done means that nothing of it is there.
///
/// With `keep_volumes` nothing that is done touches volumes that users of the shoot made.
pub(crate) fn delete(observed: &Observed, keep_volumes: bool) -> Plan {
    let mut planner = Planner::new(observed);
    let mut needs = user_resource_cleanup::add(&mut planner, keep_volumes).to_vec();
    let of_guest: Arc<[Need]> = needs.as_slice().into();
    for (name, machine) in observed.facts.machines.values().flatten() {
        needs.push(planner.add(
            format!("remove/{}", machine.uid).into(),
            format!("Remove machine {name}"),
            of_guest.clone(),
            remove_machine(name, machine),
        ));
    }
    // What is in the shoot goes with it.
    let ours = observed.facts.objects.iter();
    let mut objects: Vec<_> = ours.filter(|it| it.0.side == Side::Provider).collect();
    objects.sort_by_key(|it| it.0);
    let (workloads, rest): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|it| is_workload(it.0.kind));
    remove(&mut planner, workloads, &mut needs);
    let left = user_resource_cleanup::outside(observed, keep_volumes);
    remove(&mut planner, [rest, left].concat(), &mut needs);
    // Left by an earlier shoot of the same name: the labels say that it is to go as well.
    let foreign = observed.facts.foreign.iter();
    for (key, object) in foreign.filter(|it| it.0.side == Side::Provider) {
        let id: Id = format!("remove/{}", object.uid).into();
        needs.push(planner.add(id, title(key), [], removal(key, object)));
    }
    if let Some(record) = &observed.facts.record {
        planner.add(
            "record".to_owned().into(),
            "Remove the record".into(),
            needs,
            remove_record(record),
        );
    }
    planner.plan
}

/// After all that is in `needs`, to which they are added.
fn remove(planner: &mut Planner, objects: Vec<(&Key, &Object)>, needs: &mut Vec<Need>) {
    let before: Arc<[Need]> = needs.as_slice().into();
    for (key, object) in objects {
        let id: Id = format!("remove/{}", object.uid).into();
        let state = removal(key, object);
        needs.push(planner.add(id, title(key), before.clone(), state));
    }
}

/// Its pods use the rest, and would bring load balancers and volumes back.
fn is_workload(kind: Kind) -> bool {
    matches!(kind, Kind::Deployment | Kind::StatefulSet)
}

fn remove_machine(name: &Arc<str>, machine: &Machine) -> State {
    match machine.look {
        Look::Deleting => State::Waiting(gone(machine)),
        _ => State::Due(Action::Delete(Target {
            key: Key::provider(Kind::Machine, name.clone()),
            uid: machine.uid.clone(),
            version: machine.version.clone(),
            unless_ready: false,
            drain: None,
            setback: None,
        })),
    }
}

fn remove_record(record: &Record) -> State {
    if record.leaving {
        return State::Waiting("it to be gone".into());
    }
    State::Due(Action::Delete(Target {
        key: Key::provider(Kind::Record, record.name.clone()),
        uid: record.uid.clone(),
        version: record.version.clone(),
        unless_ready: false,
        drain: None,
        setback: None,
    }))
}
