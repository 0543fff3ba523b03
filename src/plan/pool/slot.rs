//! Slots of a pool: occupied by machines, or empty.

use super::in_place::{resize, roots};
use super::pool_state::PoolState;
use super::rolling_update::{self, RollingPhase};
use super::target::{PoolTarget, ZONE_FAILURE_LIMIT};
use super::token;
use crate::plan::planner::Planner;
use crate::plan::pool::node;
use crate::plan::pool::repair::{self, RepairDecision};
use crate::state::action::{Action, Desired, Payload};
use crate::state::duty::Duty;
use crate::state::facts::{Evacuation, MachineSleep, ObservedMachine};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{
    Dependency, ItemKind, ItemState, MachineItem, MachineStep, REQUEST_SENT, empty_slot_title,
};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

/// The best machines of a zone take its slots, so that done items stay in front. Machines beyond the last slot are
/// surplus, but still needed.
pub(crate) fn add(
    planner: &mut Planner,
    target: &PoolTarget,
    pool_state: &PoolState,
    surplus: &mut HashSet<usize>,
    zone: usize,
) -> Vec<Dependency> {
    let observed = planner.observed;
    let mut here: Vec<usize> = (0..pool_state.judged.len())
        .filter(|it| takes_place(&pool_state.judged[*it], target.hash, zone))
        .collect();
    here.retain(|it| !pool_state.chosen.contains(it));
    here.sort_by_key(|index| {
        (
            Reverse(pool_state.judged[*index].phase == RollingPhase::Ready),
            pool_state.judged[*index].ordinal,
        )
    });
    let size = target.targets[zone];
    surplus.extend(
        here.iter()
            .skip(size)
            .filter(|it| **it < pool_state.machines.len()),
    );
    let mut create = pool_state.create.iter().filter(|it| it.0 == zone);
    let mut places = Vec::with_capacity(size);
    for slot in 0..size {
        let work = match here.get(slot) {
            Some(it) => taken(observed, target, pool_state, *it),
            None => match create.next() {
                Some((_, ordinal)) => to_be_made(observed, target, zone, *ordinal),
                None => empty(observed, target, pool_state, zone),
            },
        };
        let kind = ItemKind::Machine(MachineItem {
            pool: target.pool.clone(),
            zone,
            zone_name: target.zone(zone).into(),
            slot,
            machine: work.machine,
            step: work.step,
        });
        places.push(planner.add(kind, work.title, target.needs(zone), work.state));
    }
    places
}

/// Title and state of a slot.
struct SlotWork {
    machine: Option<Arc<str>>,
    step: MachineStep,
    title: String,
    state: ItemState,
}

impl SlotWork {
    fn new(machine: &Arc<str>, step: MachineStep, title: String, state: ItemState) -> SlotWork {
        SlotWork {
            machine: Some(machine.clone()),
            step,
            title,
            state,
        }
    }
}

fn takes_place(machine: &rolling_update::RollingMachine, hash: Hash, zone: usize) -> bool {
    machine.hash == hash
        && machine.zone == zone
        && matches!(
            machine.phase,
            RollingPhase::Creating | RollingPhase::Ready | RollingPhase::NotReady
        )
}

/// A slot that a machine occupies, or will occupy when our request is answered.
fn taken(
    observed: &Observed,
    target: &PoolTarget,
    pool_state: &PoolState,
    index: usize,
) -> SlotWork {
    let judged = &pool_state.judged[index];
    let Some((name, machine)) = pool_state.machines.get(index) else {
        let name = target.name(judged.zone, judged.ordinal);
        let title = format!("Create machine {name}");
        let sent = ItemState::Waiting(REQUEST_SENT.into());
        return SlotWork::new(&name, MachineStep::Create, title, sent);
    };
    let start = |title, state| SlotWork::new(name, MachineStep::Start, title, state);
    let data = ObjectKey::provider(ObjectKind::UserData, (*name).clone());
    let there = observed.facts.objects.get(&data);
    if there.is_some_and(|it| it.leaving) {
        return start(format!("Apply user data of machine {name}"), old_data());
    }
    if there.is_none() && !is_sent(observed, name) {
        let content = Payload::UserData {
            pool: target.pool.clone(),
        };
        let wanted = Desired {
            key: data,
            hash: target.hash,
            payload: content,
        };
        return start(
            format!("Apply user data of machine {name}"),
            ItemState::Due(Action::Apply(wanted)),
        );
    }
    if pool_state.resizes.contains(&index) {
        let (title, state) = resize::work(target, pool_state, index);
        return SlotWork::new(name, MachineStep::Resize, title, state);
    }
    if machine.sleep != MachineSleep::Awake {
        let wanted = Desired {
            key: ObjectKey::provider(ObjectKind::Machine, (*name).clone()),
            hash: target.hash,
            payload: Payload::Start {
                uid: machine.uid.clone(),
                resize: None,
            },
        };
        let title = format!("Start machine {name}, which is halted");
        return start(title, ItemState::Due(Action::Apply(wanted)));
    }
    if let Some((title, payload)) = evacuation(observed, name, machine) {
        let wanted = Desired {
            key: ObjectKey::provider(ObjectKind::Machine, (*name).clone()),
            hash: target.hash,
            payload,
        };
        let state = ItemState::Due(Action::Apply(wanted));
        return SlotWork::new(name, MachineStep::Evacuate, title, state);
    }
    if pool_state.adopting.contains(&index) {
        let (title, state) = roots::adoption(observed, target, name, machine);
        return SlotWork::new(name, MachineStep::TakeRoots, title, state);
    }
    let needs_content =
        target.is_updated_in_place && machine.content.is_none() && machine.hash == target.hash;
    if let Some(metadata) = target
        .metadata
        .as_deref()
        .filter(|it| needs_content || **it != *machine.metadata)
    {
        let content = Payload::Metadata {
            pool: target.pool.clone(),
            uid: machine.uid.clone(),
        };
        let hash = Hash::of(&metadata);
        let wanted = Desired {
            key: ObjectKey::provider(ObjectKind::Machine, (*name).clone()),
            hash,
            payload: content,
        };
        return start(
            format!("Update labels and annotations of machine {name}"),
            ItemState::Due(Action::Apply(wanted)),
        );
    }
    if let Some(state) = token::missing(observed, name, machine) {
        return start(format!("Renew bootstrap token of machine {name}"), state);
    }
    let wanted = target.metadata.as_deref();
    if let Some(state) = wanted.and_then(|it| node::metadata(observed, &target.pool, name, it)) {
        let title = format!("Label node {name}");
        return SlotWork::new(name, MachineStep::LabelNode, title, state);
    }
    let decision = pool_state.repair.get(*name);
    let repair = decision.and_then(|it| repair::item(observed, name, machine, it));
    if let Some((title, state)) = repair::decided(name, machine, observed).or(repair) {
        return start(title, state);
    }
    match judged.phase {
        RollingPhase::Ready => start(format!("Machine {name} is ready"), ItemState::Done),
        _ => start(
            format!("Start machine {name}"),
            match unschedulable(observed, target, machine) {
                Some(failure) => ItemState::Failed(failure),
                None => ItemState::Waiting(match decision {
                    Some(RepairDecision::Wait(repair)) => {
                        format!("{}; {repair}", why(machine).trim_end_matches('.'))
                    }
                    _ => why(machine),
                }),
            },
        ),
    }
}

/// Title and payload of the item of a machine that stays and whose host is being drained, or was.
fn evacuation(
    observed: &Observed,
    name: &str,
    machine: &ObservedMachine,
) -> Option<(String, Payload)> {
    let uid = machine.uid.clone();
    let evacuation = machine.evacuation;
    match evacuation.filter(|_| !observed.skipped.contains(&Duty::Drains))? {
        Evacuation::Migration => Some((
            format!("Migrate machine {name} to another host"),
            Payload::Migrate { uid },
        )),
        Evacuation::Cancellation => Some((
            format!("Keep machine {name} on its host, which is no longer drained"),
            Payload::CancelEvacuation { uid },
        )),
        Evacuation::Replacement => None,
    }
}

/// The failure of a machine that has waited for a host for too long. It stays, and starts if a host has room for it.
fn unschedulable(
    observed: &Observed,
    target: &PoolTarget,
    machine: &ObservedMachine,
) -> Option<Failure> {
    let since = machine.unschedulable_since?;
    if observed.now.saturating_sub(since) < target.scheduling_limit {
        return None;
    }
    let message = format!(
        "{} has no host with {} free (pool {}): {}",
        target.zone(machine.zone),
        target.machine_size,
        target.pool,
        why(machine)
    );
    Some(Failure::new(ErrorClass::Infrastructure, message))
}

fn is_sent(observed: &Observed, name: &Arc<str>) -> bool {
    observed
        .sent
        .contains_key(&ObjectKey::provider(ObjectKind::Machine, name.clone()))
}

fn why(machine: &ObservedMachine) -> String {
    match (&machine.cause, &*machine.status) {
        (Some(cause), _) => cause.to_string(),
        (None, "") => "KubeVirt has not processed the VM yet".into(),
        (None, status) => status.to_owned(),
    }
}

fn old_data() -> ItemState {
    ItemState::Waiting("the old user data is terminating".into())
}

/// User data of an earlier machine of that name is reused unless it is being deleted.
fn loses_data(observed: &Observed, name: &Arc<str>) -> bool {
    let key = ObjectKey::provider(ObjectKind::UserData, name.clone());
    let there = observed.facts.objects.get(&key);
    there.is_some_and(|it| it.leaving) || matches!(observed.sent.get(&key), Some(Action::Delete(_)))
}

fn to_be_made(observed: &Observed, target: &PoolTarget, zone: usize, ordinal: u32) -> SlotWork {
    let name = target.name(zone, ordinal);
    let content = Payload::Machine {
        pool: target.pool.clone(),
        zone,
        ordinal,
    };
    let title = format!("Create machine {name} in zone {}", target.zone(zone));
    let create = |state| SlotWork::new(&name, MachineStep::Create, title, state);
    let mut pools = observed.facts.machines.values();
    // By its labels it belongs to another pool, and it is being removed.
    if pools.any(|it| it.contains_key(&name)) {
        return create(ItemState::Blocked);
    }
    if loses_data(observed, &name) {
        return create(old_data());
    }
    create(ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Machine, name.clone()),
        hash: target.hash,
        payload: content,
    })))
}

/// A slot that no machine may fill now: a limit holds it back, or its zone was given up.
fn empty(
    observed: &Observed,
    target: &PoolTarget,
    pool_state: &PoolState,
    zone: usize,
) -> SlotWork {
    let wait = |state| SlotWork {
        machine: None,
        step: MachineStep::Create,
        title: empty_slot_title(&target.pool, &target.zone(zone)),
        state,
    };
    if pool_state.zone_failures[zone] < ZONE_FAILURE_LIMIT {
        return wait(ItemState::Blocked);
    }
    let refusal = observed
        .refused
        .values()
        .find_map(|(action, failure)| match action {
            Action::Apply(Desired {
                payload: Payload::Machine { pool, zone: it, .. },
                ..
            }) if (pool, *it) == (&target.pool, zone) => Some(failure.clone()),
            _ => None,
        });
    let key = (target.pool.clone(), target.hash);
    let counts = observed.zone_failures.get(&key);
    let count = counts.and_then(|it| it.get(zone)).copied();
    if refusal.is_none() && count.is_none_or(|it| it == 0) {
        // The machine that failed is about to be removed.
        return wait(ItemState::Blocked);
    }
    let given_up = || {
        let last = observed.last_zone_failure.get(&(target.pool.clone(), zone));
        let why = last.map(|(_, it)| format!(", the last with: {it}"));
        let count = count.unwrap_or(pool_state.zone_failures[zone]);
        let machines = if count == 1 { "machine" } else { "machines" };
        let message = format!(
            "{count} {machines} failed in this zone during this run{}",
            why.unwrap_or_default()
        );
        let class = last.map_or(ErrorClass::Infrastructure, |it| it.0);
        Failure::new(class, message)
    };
    wait(ItemState::Failed(refusal.unwrap_or_else(given_up)))
}
