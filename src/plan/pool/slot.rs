//! The places of a pool: who has them, and what becomes of those that are empty.

use super::pool_state::Seen;
use super::rolling_update::{self, Phase};
use super::target::{PATIENCE, Wants};
use super::token;
use crate::plan::planner::Planner;
use crate::plan::pool::node;
use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::Machine;
use crate::state::failure::{Class, Failure};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::{Id, Need, REQUEST_SENT, State};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

/// The best machines of a zone take its places, so what is done stays in front; those beyond the last place
/// must go, but are still needed.
pub(crate) fn add(
    planner: &mut Planner,
    wants: &Wants,
    seen: &Seen,
    late: &mut HashSet<usize>,
    zone: usize,
) -> Vec<Need> {
    let observed = planner.observed;
    let mut here: Vec<usize> = (0..seen.judged.len())
        .filter(|it| takes_place(&seen.judged[*it], wants.hash, zone))
        .collect();
    here.retain(|it| !seen.chosen.contains(it));
    here.sort_by_key(|it| {
        (
            Reverse(seen.judged[*it].phase == Phase::Ready),
            seen.judged[*it].ordinal,
        )
    });
    let target = wants.targets[zone];
    late.extend(
        here.iter()
            .skip(target)
            .filter(|it| **it < seen.machines.len()),
    );
    let mut create = seen.create.iter().filter(|it| it.0 == zone);
    let mut places = Vec::with_capacity(target);
    for place in 0..target {
        let (title, state) = match here.get(place) {
            Some(it) => taken(observed, wants, seen, *it),
            None => match create.next() {
                Some((_, ordinal)) => to_be_made(observed, wants, zone, *ordinal),
                None => empty(observed, wants, seen, zone),
            },
        };
        let id: Id = format!("machine/{}/z{}/{place}", wants.pool, zone + 1).into();
        places.push(planner.add(id, title, wants.needs(zone), state));
    }
    places
}

fn takes_place(machine: &rolling_update::Machine, hash: Hash, zone: usize) -> bool {
    machine.hash == hash
        && machine.zone == zone
        && matches!(
            machine.phase,
            Phase::Creating | Phase::Ready | Phase::NotReady
        )
}

/// A place that a machine has, or will have when our request is answered.
fn taken(observed: &Observed, wants: &Wants, seen: &Seen, index: usize) -> (String, State) {
    let judged = &seen.judged[index];
    let Some((name, machine)) = seen.machines.get(index) else {
        let name = wants.name(judged.zone, judged.ordinal);
        return (
            format!("Make machine {name}"),
            State::Waiting(REQUEST_SENT.into()),
        );
    };
    let data = Key::provider(Kind::UserData, (*name).clone());
    let there = observed.facts.objects.get(&data);
    if there.is_some_and(|it| it.leaving) {
        return (format!("Apply user data of machine {name}"), old_data());
    }
    if there.is_none() && !is_sent(observed, name) {
        let content = Content::UserData {
            pool: wants.pool.clone(),
        };
        let wanted = Wanted {
            key: data,
            hash: wants.hash,
            content,
        };
        return (
            format!("Apply user data of machine {name}"),
            State::Due(Action::Apply(wanted)),
        );
    }
    if let Some(metadata) = wants
        .metadata
        .as_deref()
        .filter(|it| **it != *machine.metadata)
    {
        let content = Content::Metadata {
            pool: wants.pool.clone(),
            uid: machine.uid.clone(),
        };
        let hash = Hash::of(&metadata);
        let wanted = Wanted {
            key: Key::provider(Kind::Machine, (*name).clone()),
            hash,
            content,
        };
        return (
            format!("Change labels and annotations of machine {name}"),
            State::Due(Action::Apply(wanted)),
        );
    }
    if let Some(state) = token::missing(observed, name, machine) {
        return (
            format!("Renew the bootstrap token of machine {name}"),
            state,
        );
    }
    let wanted = wants.metadata.as_deref();
    if let Some(state) = wanted.and_then(|it| node::metadata(observed, &wants.pool, name, it)) {
        return (format!("Label node {name}"), state);
    }
    match judged.phase {
        Phase::Ready => (format!("Machine {name} is ready"), State::Done),
        _ => (
            format!("Start machine {name}"),
            State::Waiting(why(machine)),
        ),
    }
}

fn is_sent(observed: &Observed, name: &Arc<str>) -> bool {
    observed
        .sent
        .contains_key(&Key::provider(Kind::Machine, name.clone()))
}

fn why(machine: &Machine) -> String {
    match (&machine.cause, &*machine.status) {
        (Some(cause), _) => cause.to_string(),
        (None, "") => "KubeVirt to see it".into(),
        (None, status) => status.to_owned(),
    }
}

fn old_data() -> State {
    State::Waiting("its old user data to be gone".into())
}

/// What is left of an earlier machine of that name is used, unless it is about to go.
fn loses_data(observed: &Observed, name: &Arc<str>) -> bool {
    let key = Key::provider(Kind::UserData, name.clone());
    let there = observed.facts.objects.get(&key);
    there.is_some_and(|it| it.leaving) || matches!(observed.sent.get(&key), Some(Action::Delete(_)))
}

fn to_be_made(observed: &Observed, wants: &Wants, zone: usize, ordinal: u32) -> (String, State) {
    let name = wants.name(zone, ordinal);
    let content = Content::Machine {
        pool: wants.pool.clone(),
        zone,
        ordinal,
    };
    let title = format!("Make machine {name} in zone {}", wants.zone(zone));
    let mut pools = observed.facts.machines.values();
    // Another one's, as far as its marks go; it is on its way out.
    if pools.any(|it| it.contains_key(&name)) {
        return (title, State::Blocked);
    }
    if loses_data(observed, &name) {
        return (title, old_data());
    }
    (
        title,
        State::Due(Action::Apply(Wanted {
            key: Key::provider(Kind::Machine, name),
            hash: wants.hash,
            content,
        })),
    )
}

/// A place that no machine may take now: a bound holds it back, or its zone was given up.
fn empty(observed: &Observed, wants: &Wants, seen: &Seen, zone: usize) -> (String, State) {
    let title = format!(
        "Make a machine of pool {} in zone {}",
        wants.pool,
        wants.zone(zone)
    );
    if seen.setbacks[zone] < PATIENCE {
        return (title, State::Blocked);
    }
    let refusal = observed
        .refused
        .values()
        .find_map(|(action, failure)| match action {
            Action::Apply(Wanted {
                content: Content::Machine { pool, zone: it, .. },
                ..
            }) if (pool, *it) == (&wants.pool, zone) => Some(failure.clone()),
            _ => None,
        });
    let given_up = || {
        let last = observed.last_setback.get(&(wants.pool.clone(), zone));
        let why = last.map(|(_, it)| format!(", the last one with {it}"));
        let count = seen.setbacks[zone];
        let message = format!(
            "{count} machines failed here in this run{}",
            why.unwrap_or_default()
        );
        let class = last.map_or(Class::Infrastructure, |it| it.0);
        Failure::new(class, message)
    };
    (title, State::Failed(refusal.unwrap_or_else(given_up)))
}
