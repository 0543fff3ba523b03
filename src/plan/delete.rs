//! What is to be done to be rid of a shoot: by labels alone, without manifest and profile.

use super::item::{Action, Id, Key, Kind, Need, Plan, State, Target};
use super::observed::{Look, Machine, Observed, Record};
use super::shared::{removal, title};
use std::sync::Arc;

/// Machines, then what they used, then the record. All done means that nothing of it is there.
pub(crate) fn delete(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    let mut machines = Vec::new();
    for (name, machine) in observed.facts.machines.values().flatten() {
        let id: Id = format!("remove/{}", machine.uid).into();
        machines.push(plan.add(
            observed,
            id,
            format!("Remove machine {name}"),
            [],
            remove_machine(name, machine),
        ));
    }
    let machines: Arc<[Need]> = machines.into();
    let mut objects: Vec<_> = observed.facts.objects.iter().collect();
    objects.sort_by_key(|it| it.0);
    let mut all: Vec<Need> = machines.to_vec();
    for (key, object) in objects {
        let id: Id = format!("remove/{}", object.uid).into();
        all.push(plan.add(
            observed,
            id,
            title(key),
            machines.clone(),
            removal(key, object),
        ));
    }
    // Left by an earlier shoot of the same name: the labels say that it is to go as well.
    for (key, object) in &observed.facts.foreign {
        let id: Id = format!("remove/{}", object.uid).into();
        all.push(plan.add(observed, id, title(key), [], removal(key, object)));
    }
    if let Some(record) = &observed.facts.record {
        plan.add(
            observed,
            "record".to_owned().into(),
            "Remove the record".into(),
            all,
            remove_record(record),
        );
    }
    plan
}

fn remove_machine(name: &Arc<str>, machine: &Machine) -> State {
    match machine.look {
        Look::Deleting => {
            State::Waiting(machine.cause.as_deref().unwrap_or("it to be gone").into())
        }
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
