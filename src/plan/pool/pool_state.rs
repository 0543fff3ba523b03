//! Input of the rolling update: existing machines, and requests without a response.

use super::in_place::roots;
use super::repair::RepairDecision;
use super::rolling_update::{self, RollingPhase};
use super::target::{PoolTarget, ZONE_FAILURE_LIMIT};
use crate::plan::planner::Planner;
use crate::state::action::{Action, Desired, Payload};
use crate::state::desired::machine_content::ContentChange;
use crate::state::duty::Duty;
use crate::state::facts::{Evacuation, MachinePhase, MachineSleep, ObservedMachine};
use crate::state::failure::ErrorClass;
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Seconds after which a halted machine is replaced: more than a weekend. Kubelets renew certificates of 30 days when at
/// most 30 % of their time is left, and at the latest with 10 %, which are 3 days.
const MAX_SLEEP: i64 = 66 * 60 * 60;

/// A pool's machines as input for the rolling update, and its result.
pub(crate) struct PoolState<'a> {
    pub(crate) machines: Vec<(&'a Arc<str>, &'a ObservedMachine)>,
    pub(crate) judged: Vec<rolling_update::RollingMachine>,
    pub(crate) zone_failures: Vec<u32>,
    /// Indexes of machines that may be removed now.
    pub(crate) chosen: HashSet<usize>,
    pub(crate) create: Vec<(usize, u32)>,
    /// Indexes of machines that a restart gives another size, and of those of them that may be worked on now.
    pub(crate) resizes: BTreeSet<usize>,
    pub(crate) resize_now: BTreeSet<usize>,
    /// Indexes of machines that take new CAs in place.
    pub(crate) adopting: BTreeSet<usize>,
    /// Indexes of machines whose halt was requested by this run.
    pub(crate) halting: BTreeSet<usize>,
    /// Names of machines whose creation has no response yet.
    pub(crate) creating: Vec<Arc<str>>,
    /// Decisions about machines whose node is not healthy.
    pub(crate) repair: BTreeMap<Arc<str>, RepairDecision>,
}

pub(crate) fn pool_state<'a>(planner: &mut Planner<'a>, target: &PoolTarget) -> PoolState<'a> {
    let observed = planner.observed;
    let mut pool_state = PoolState {
        machines: Vec::new(),
        judged: Vec::new(),
        zone_failures: setbacks(observed, target),
        chosen: HashSet::new(),
        create: Vec::new(),
        resizes: BTreeSet::new(),
        resize_now: BTreeSet::new(),
        adopting: BTreeSet::new(),
        halting: BTreeSet::new(),
        creating: Vec::new(),
        repair: BTreeMap::new(),
    };
    for (name, machine) in observed.pool(&target.pool) {
        let phase = phase(observed.now, machine, target.creation_limit);
        if phase == RollingPhase::Creating && target.creation_limit < Duration::MAX {
            planner.plan.wake_at(machine.since + target.creation_limit);
            if let Some(since) = machine.unschedulable_since {
                planner.plan.wake_at(since + target.scheduling_limit);
            }
        }
        let ObservedMachine {
            zone,
            ordinal,
            born,
            ..
        } = *machine;
        // It is replaced, and keeps its name until it is deleted.
        let is_evacuating = machine.evacuation == Some(Evacuation::Replacement)
            && !observed.skipped.contains(&Duty::Drains);
        let is_replaced = is_evacuating
            || machine.instance.replace.is_some()
            || target.deleted.contains(&*machine.uid)
            || slept_too_long(observed, machine);
        let judgment = judge_content(observed, target, name, machine, phase);
        let hash = match judgment.hash == target.hash && is_replaced {
            true => target.hash.sibling(),
            false => judgment.hash,
        };
        let index = pool_state.machines.len();
        match judgment.change {
            _ if is_replaced => {}
            ContentChange::Restart => {
                pool_state.resizes.insert(index);
            }
            ContentChange::Roots => {
                pool_state.adopting.insert(index);
                planner.plan.wake_at(target.roots_limit);
            }
            _ => {}
        }
        pool_state.machines.push((name, machine));
        pool_state.judged.push(rolling_update::RollingMachine {
            hash,
            zone,
            ordinal,
            phase,
            born,
        });
    }
    give_up_zones_of_silent_machines(observed, target, &mut pool_state);
    in_flight(observed, target, &mut pool_state);
    pool_state
}

impl PoolState<'_> {
    /// True if all machines are those of the pool, have joined, and stay, and none is being created.
    pub(crate) fn is_settled(&self, target: &PoolTarget) -> bool {
        let is_settled = |it: &rolling_update::RollingMachine| {
            let has_joined = matches!(it.phase, RollingPhase::Ready | RollingPhase::NotReady);
            has_joined && it.hash == target.hash
        };
        self.judged.iter().all(is_settled) && self.creating.is_empty()
    }
}

/// Comparison of a machine with its pool.
struct ContentJudgment {
    /// That of the pool for a machine that stays: it is as the pool wants it, or becomes so without a replacement.
    hash: Hash,
    change: ContentChange,
}

/// Compares the content of a machine with that of its pool.
fn judge_content(
    observed: &Observed,
    target: &PoolTarget,
    name: &str,
    machine: &ObservedMachine,
    phase: RollingPhase,
) -> ContentJudgment {
    let judgment = |hash, change| ContentJudgment { hash, change };
    let of_origin = judgment(machine.hash, ContentChange::Replacement);
    let (Some(own), Some(wanted)) = (&machine.content, &target.content) else {
        return of_origin;
    };
    let change = own.change_to(wanted, &target.expandable);
    // Neither a restart nor its timer changes it, so the hash of its origin is enough.
    if own.fixed != wanted.fixed && change != ContentChange::Roots {
        return of_origin;
    }
    // One that never joined has nothing to keep: another one takes its place at once.
    let is_leaving = matches!(phase, RollingPhase::Draining | RollingPhase::Deleting);
    let is_kept = matches!(phase, RollingPhase::Ready | RollingPhase::NotReady)
        || machine.sleep != MachineSleep::Awake && !is_leaving;
    let stays = match change {
        ContentChange::None => true,
        ContentChange::Restart => target.is_updated_in_place && is_kept,
        ContentChange::Roots => is_kept && roots::takes(observed, target, name, own),
        ContentChange::Replacement => false,
    };
    // Its name has the hash of what it was created from.
    match stays {
        true => judgment(target.hash, change),
        false if machine.hash == target.hash => {
            judgment(machine.hash.sibling(), ContentChange::Replacement)
        }
        false => of_origin,
    }
}

/// A machine that ran and did not join is not replaced by the plan that removes it: see [`give_up_silent_zones`].
fn give_up_zones_of_silent_machines(
    observed: &Observed,
    target: &PoolTarget,
    pool_state: &mut PoolState,
) {
    if has_joined(observed, target) {
        return;
    }
    for ((_, machine), judged) in pool_state.machines.iter().zip(&pool_state.judged) {
        let is_silent = judged.phase == RollingPhase::Failed && machine.runs;
        if is_silent
            && judged.hash == target.hash
            && let Some(count) = pool_state.zone_failures.get_mut(judged.zone)
        {
            *count = (*count).max(ZONE_FAILURE_LIMIT);
        }
    }
}

/// The certificate of its kubelet may end before it can renew it, or has ended.
fn slept_too_long(observed: &Observed, machine: &ObservedMachine) -> bool {
    let facts = &observed.facts;
    let record = facts.record.as_ref();
    // An earlier hibernation stays in the record.
    let began = machine
        .halted_at
        .or_else(|| record.and_then(|it| it.hibernation.began));
    machine.sleep == MachineSleep::Halted
        && began.is_some_and(|it| facts.time.saturating_sub(it) > MAX_SLEEP)
}

/// Requests without a response count as if they had happened.
fn in_flight(observed: &Observed, target: &PoolTarget, pool_state: &mut PoolState) {
    for (index, (name, machine)) in pool_state.machines.iter().enumerate() {
        let next = match observed
            .sent
            .get(&ObjectKey::provider(ObjectKind::Machine, (*name).clone()))
        {
            Some(Action::Delete(target)) if target.uid == machine.uid => RollingPhase::Deleting,
            Some(Action::Drain(target)) if target.uid == machine.uid => RollingPhase::Draining,
            Some(Action::Apply(Desired {
                payload: Payload::Halt(halt),
                ..
            })) if halt.uid == machine.uid => {
                pool_state.halting.insert(index);
                RollingPhase::NotReady
            }
            _ => continue,
        };
        let phase = &mut pool_state.judged[index].phase;
        let is_kept = match next {
            RollingPhase::NotReady => *phase != RollingPhase::Ready,
            _ => *phase == RollingPhase::Deleting,
        };
        if !is_kept {
            *phase = next;
        }
    }
    for action in observed.sent.values() {
        let Action::Apply(Desired {
            key,
            hash,
            payload:
                Payload::Machine {
                    pool,
                    zone,
                    ordinal,
                },
        }) = action
        else {
            continue;
        };
        if *pool != target.pool {
            continue;
        }
        pool_state.creating.push(key.name.clone());
        let there = observed.facts.machines.get(pool);
        if there.is_none_or(|it| !it.contains_key(&key.name)) {
            pool_state.judged.push(rolling_update::RollingMachine {
                hash: *hash,
                zone: *zone,
                ordinal: *ordinal,
                phase: RollingPhase::Creating,
                born: u64::MAX,
            });
        }
    }
}

/// A zone whose machine was rejected is treated as given up: nothing could replace an old machine there.
fn setbacks(observed: &Observed, target: &PoolTarget) -> Vec<u32> {
    let key = (target.pool.clone(), target.hash);
    let mut setbacks = observed
        .zone_failures
        .get(&key)
        .cloned()
        .unwrap_or_default();
    setbacks.resize(target.targets.len(), 0);
    give_up_silent_zones(observed, target, &mut setbacks);
    for (action, _) in observed.refused.values() {
        if let Action::Apply(Desired {
            payload: Payload::Machine { pool, zone, .. },
            hash,
            ..
        }) = action
            && (pool, *hash) == (&target.pool, target.hash)
            && let Some(count) = setbacks.get_mut(*zone)
        {
            *count = ZONE_FAILURE_LIMIT;
        }
    }
    setbacks
}

/// A zone is given up after one machine that ran and did not join, unless another machine of the same hash has joined:
/// the next one would have the same image, user data and network.
fn give_up_silent_zones(observed: &Observed, target: &PoolTarget, setbacks: &mut [u32]) {
    let has_joined = has_joined(observed, target);
    for (zone, count) in setbacks.iter_mut().enumerate() {
        let last = observed.last_zone_failure.get(&(target.pool.clone(), zone));
        let is_silent = last.is_some_and(|it| it.0 == ErrorClass::Guest);
        if *count > 0 && is_silent && !has_joined {
            *count = (*count).max(ZONE_FAILURE_LIMIT);
        }
    }
}

/// True if another machine of the same hash has joined.
fn has_joined(observed: &Observed, target: &PoolTarget) -> bool {
    let mut machines = observed.pool(&target.pool).map(|it| it.1);
    machines.any(|it| {
        it.hash == target.hash && matches!(it.phase, MachinePhase::Ready | MachinePhase::NotReady)
    })
}

/// The only place where time matters: a machine that was never ready fails at its time limit.
fn phase(now: Duration, machine: &ObservedMachine, limit: Duration) -> RollingPhase {
    match machine.phase {
        MachinePhase::Provisioning if now.saturating_sub(machine.since) >= limit => {
            RollingPhase::Failed
        }
        MachinePhase::Provisioning => RollingPhase::Creating,
        // Its node is cordoned, and no longer counts.
        MachinePhase::Ready if machine.sleep != MachineSleep::Awake => RollingPhase::NotReady,
        MachinePhase::Ready => RollingPhase::Ready,
        MachinePhase::NotReady => RollingPhase::NotReady,
        MachinePhase::Failed => RollingPhase::Failed,
        MachinePhase::Draining | MachinePhase::Drained => RollingPhase::Draining,
        MachinePhase::Deleting => RollingPhase::Deleting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(since: u64, now: u64, limit: Duration) -> RollingPhase {
        let machine = ObservedMachine {
            uid: "u".into(),
            version: "1".into(),
            hash: Hash::default(),
            content: None,
            zone: 0,
            ordinal: 0,
            born: 0,
            phase: MachinePhase::Provisioning,
            runs: false,
            sleep: Default::default(),
            halted_at: None,
            evacuation: None,
            since: Duration::from_secs(since),
            unschedulable_since: None,
            image: None,
            networks: [].into(),
            types: [].into(),
            metadata: "".into(),
            status: "".into(),
            cause: None,
            placement: Default::default(),
            instance: Default::default(),
        };
        super::phase(Duration::from_secs(now), &machine, limit)
    }

    #[test]
    fn a_machine_that_was_never_ready_fails_at_its_limit() {
        let limit = Duration::from_secs(60);
        assert_eq!(phase(5, 64, limit), RollingPhase::Creating);
        assert_eq!(phase(5, 65, limit), RollingPhase::Failed);
    }

    /// Machines of a pool that is gone from the manifest have none.
    #[test]
    fn an_infinite_limit_never_expires() {
        assert_eq!(phase(5, 1_000_000, Duration::MAX), RollingPhase::Creating);
    }
}
