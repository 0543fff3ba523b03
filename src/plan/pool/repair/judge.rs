//! Decisions about machines whose nodes are not healthy: restart, replacement, or neither. Pure.
//!
//! A machine is restarted first and replaced if that does not help, or at once if its kubelet can never report again.
//! Nothing else is judged when the fault may be in the sight: an API server that was away, a zone or a host that is silent,
//! clocks that differ, or too many nodes at once.

use crate::state::facts::certificate_judgment::MAX_LIFETIME;
use crate::state::facts::{
    ConditionStatus, MachineInstance, NodeCondition, NodeConditions, ObservedHealth, RecoveredFault,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Time for which a Lease does not move until it counts as silent.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);
/// Time for which the API server and its controller manager must have answered.
pub(super) const STABILITY: Duration = Duration::from_secs(3 * 60);
/// Difference of clocks in seconds from which ages mean nothing.
const CLOCK_DIFFERENCE: i64 = 5;
/// Time after a restart in which another failure skips the restart.
const MEMORY: i64 = 60 * 60;
/// Repairs of a shoot in [`MEMORY`].
const BUDGET: usize = 3;
/// Percentage of a pool's nodes that may be suspected at most.
const MAX_UNHEALTHY: usize = 40;
/// Percentage of a zone's nodes from which the zone is suspected, if there are more than two.
const ZONE_UNHEALTHY: usize = 55;
/// A restart does not help against it.
const DISK_PRESSURE: &str = "DiskPressure";
/// On several nodes it is a matter of the pod network.
const NETWORK: &str = "NetworkUnavailable";

/// Settings of a pool for repair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepairSettings {
    pub(crate) timeout: Duration,
    /// Types of conditions that are faults unless they are False.
    pub(crate) conditions: Vec<String>,
    /// Faults are reported only.
    pub(crate) is_disabled: bool,
}

/// A machine of a pool that is not being removed.
#[derive(Debug, Clone)]
pub(crate) struct JudgedMachine<'a> {
    pub(crate) name: &'a Arc<str>,
    /// Name of its zone.
    pub(crate) zone: &'a str,
    pub(crate) host: Option<&'a Arc<str>>,
    /// Its VM runs.
    pub(crate) runs: bool,
    /// Its node was ready once.
    pub(crate) has_joined: bool,
    /// None if the node does not exist.
    pub(crate) node: Option<&'a NodeConditions>,
    pub(crate) instance: &'a MachineInstance,
}

/// Facts about the machines of a pool.
#[derive(Debug)]
pub(crate) struct RepairInput<'a> {
    pub(crate) settings: &'a RepairSettings,
    pub(crate) health: Option<&'a ObservedHealth>,
    /// Time since the run began.
    pub(crate) now: Duration,
    pub(crate) machines: Vec<JudgedMachine<'a>>,
    /// Machines of all pools by zone: suspected ones, and all.
    pub(crate) zones: BTreeMap<String, (usize, usize)>,
    /// Machines of all pools that had a fault and work again, although they were not restarted.
    pub(crate) recovered: Vec<RecoveredFault>,
    /// Why the pool is not repaired now: a rolling update, a rotation.
    pub(crate) busy: Option<&'static str>,
    /// Times of repairs of the shoot, in seconds since 1970.
    pub(crate) repairs: &'a [i64],
}

/// Decision about a machine whose node is not healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RepairDecision {
    /// Nothing now, for a reason that stands alone.
    Wait(String),
    /// Its instance is deleted, and KubeVirt starts another one.
    Restart(String),
    /// It is marked for replacement.
    Replace(String),
}

/// A fault of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    NotReady(ConditionStatus),
    NoNode,
    Condition(Arc<str>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotReady(ConditionStatus::Unknown) => f.write_str("kubelet does not report"),
            Fault::NotReady(_) => f.write_str("node not ready"),
            Fault::NoNode => f.write_str("machine runs without a node"),
            Fault::Condition(kind) => write!(f, "node has condition {kind}"),
        }
    }
}

/// A machine with a fault.
struct Suspect<'a> {
    machine: &'a JudgedMachine<'a>,
    fault: Fault,
    /// How long the fault has lasted at least; None if that is not known.
    age: Option<Duration>,
    since: Option<i64>,
}

/// True if a machine has a fault, whatever its age.
pub(crate) fn is_suspected(machine: &JudgedMachine<'_>, settings: &RepairSettings) -> bool {
    fault(machine, settings).is_some()
}

/// The fault of a machine that had one and works again; None if it was restarted meanwhile, which may have ended it.
pub(crate) fn recovered_fault(
    machine: &JudgedMachine<'_>,
    health: &ObservedHealth,
) -> Option<RecoveredFault> {
    let known = health.recovered.get(machine.name).copied();
    // What was seen since the last look counts as well.
    let just_now = health.suspected_for.get(machine.name);
    let just_now = just_now.map(|it| RecoveredFault {
        began: *it,
        silent: health.silent_for.get(machine.name).copied(),
        ended: Duration::ZERO,
    });
    let fault = known.or(just_now)?;
    let works = machine.runs && machine.node.is_some_and(NodeConditions::is_healthy);
    let restart = machine.instance.restart.as_ref();
    let since_restart =
        restart.and_then(|it| u64::try_from(health.time.saturating_sub(it.at)).ok());
    let is_restarted = since_restart.is_some_and(|it| Duration::from_secs(it) <= fault.began);
    (works && !is_restarted).then_some(fault)
}

/// Decides about each machine whose node is not healthy. At most one is restarted or replaced.
pub(crate) fn judge(input: &RepairInput<'_>) -> BTreeMap<Arc<str>, RepairDecision> {
    let machines = input.machines.iter();
    let suspects: Vec<Suspect<'_>> = machines.filter_map(|it| suspect(it, input)).collect();
    let obstacle = obstacle(input, &suspects);
    let mut decisions = BTreeMap::new();
    let repairing = input.health.and_then(|it| repairing(input, it));
    let mut is_acting = false;
    let mut order: Vec<&Suspect<'_>> = suspects.iter().collect();
    order.sort_by_key(|it| (it.since, it.machine.name));
    for suspect in order {
        let what = format!("{}{}", suspect.fault, since(suspect.age));
        let is_lost = input
            .health
            .is_some_and(|it| has_expired(input, it, suspect));
        let decision = match (&obstacle, input.health) {
            // Whatever else is wrong; and others need not wait for it.
            _ if is_lost => {
                RepairDecision::Replace(format!("{what}, and its certificate has expired"))
            }
            (Some(why), _) => RepairDecision::Wait(why.clone()),
            (None, None) => RepairDecision::Wait("its lease is being watched".to_owned()),
            (None, Some(_))
                if is_acting || repairing.is_some_and(|it| it != suspect.machine.name) =>
            {
                RepairDecision::Wait("another machine of the pool comes first".to_owned())
            }
            (None, Some(health)) => one(input, health, suspect, &what),
        };
        is_acting |= !is_lost && !matches!(decision, RepairDecision::Wait(_));
        decisions.insert(suspect.machine.name.clone(), decision);
    }
    decisions
}

/// True if the certificate of a kubelet has certainly expired: the API server accepts no request of it, also no request for
/// another certificate. It was valid when the kubelet last renewed its Lease, for 30 days at most.
fn has_expired(input: &RepairInput<'_>, health: &ObservedHealth, suspect: &Suspect<'_>) -> bool {
    let name = suspect.machine.name;
    let is_silent = health.silent_for.get(name).is_some_and(|it| *it >= SILENCE);
    let is_old = |it: &Arc<str>| {
        let renewed = health.renewed_at.get(it);
        renewed.is_some_and(|it| time(input, health).saturating_sub(*it) > MAX_LIFETIME)
    };
    // A kubelet that works has another time: the clock of the API server is wrong.
    let is_clock_wrong = health.renewing.iter().any(is_old);
    suspect.fault == Fault::NotReady(ConditionStatus::Unknown)
        && !input.settings.is_disabled
        && health.clock_difference.abs() <= CLOCK_DIFFERENCE
        && health.stable_for >= SILENCE
        && is_silent
        && is_old(name)
        && !is_clock_wrong
}

/// The machine that was restarted last, until it has had its time.
fn repairing<'a>(input: &RepairInput<'a>, health: &ObservedHealth) -> Option<&'a Arc<str>> {
    let limit = i64::try_from(2 * input.settings.timeout.as_secs()).unwrap_or(i64::MAX);
    let is_open = |it: &&JudgedMachine<'_>| !it.runs || is_suspected(it, input.settings);
    let open = input.machines.iter().filter(is_open);
    let restarted = open.filter_map(|it| Some((it.instance.restart.as_ref()?.at, it.name)));
    let recent = restarted.filter(|it| time(input, health) - it.0 < limit);
    recent.max().map(|it| it.1)
}

fn since(age: Option<Duration>) -> String {
    age.map_or(String::new(), |it| format!(" for {}s", it.as_secs()))
}

fn time(input: &RepairInput<'_>, health: &ObservedHealth) -> i64 {
    server_time(input.now, health)
}

/// The time of the shoot's API server, in seconds since 1970.
pub(crate) fn server_time(now: Duration, health: &ObservedHealth) -> i64 {
    let passed = now.saturating_sub(health.at).as_secs();
    health.time + i64::try_from(passed).unwrap_or_default()
}

/// Repairs that still count.
pub(crate) fn recent(repairs: &[i64], now: i64) -> impl Iterator<Item = i64> {
    repairs
        .iter()
        .copied()
        .filter(move |it| now.saturating_sub(*it) < MEMORY)
}

fn suspect<'a>(machine: &'a JudgedMachine<'a>, input: &RepairInput<'_>) -> Option<Suspect<'a>> {
    let (fault, condition) = fault(machine, input.settings)?;
    let since = condition.and_then(|it| it.since);
    // Clocks may have been wrong when the condition changed: only what was seen is certain.
    let age = input.health.and_then(|health| {
        let seen = health.suspected_for.get(machine.name).copied()?;
        let seen = seen.min(since_restart(machine.instance, time(input, health)));
        if fault == Fault::NotReady(ConditionStatus::Unknown) {
            // A node that renews now and then is slow, not dead.
            let silent = health.silent_for.get(machine.name);
            return Some(seen.min(silent.copied().unwrap_or_default()));
        }
        let by_clock = since.and_then(|it| u64::try_from(time(input, health) - it).ok());
        Some(by_clock.map_or(seen, |it| seen.min(Duration::from_secs(it))))
    });
    Some(Suspect {
        machine,
        fault,
        age,
        since,
    })
}

/// Time that the machine has had to become healthy. Its stop may have been too short to be seen.
fn since_restart(instance: &MachineInstance, now: i64) -> Duration {
    let restart = instance.restart.as_ref();
    let done = restart.filter(|it| instance.uid.as_ref() != Some(&it.of));
    done.map_or(Duration::MAX, |it| {
        Duration::from_secs(u64::try_from(now - it.at).unwrap_or_default())
    })
}

fn fault<'a>(
    machine: &JudgedMachine<'a>,
    settings: &RepairSettings,
) -> Option<(Fault, Option<&'a NodeCondition>)> {
    // KubeVirt starts it again, and a machine that never joined has a time limit of its own.
    if !machine.runs || !machine.has_joined {
        return None;
    }
    let Some(node) = machine.node else {
        return Some((Fault::NoNode, None));
    };
    let ready = node.ready.as_ref()?;
    if ready.status != ConditionStatus::True {
        return Some((Fault::NotReady(ready.status), Some(ready)));
    }
    let is_listed = |kind: &str| settings.conditions.iter().any(|it| it == kind);
    let mut raised = node.raised.iter();
    let (kind, condition) = raised.find(|it| is_listed(&it.0))?;
    Some((Fault::Condition(kind.clone()), Some(condition)))
}

/// Why no machine of the pool is repaired now.
fn obstacle(input: &RepairInput<'_>, suspects: &[Suspect<'_>]) -> Option<String> {
    if suspects.is_empty() {
        return None;
    }
    if input.settings.is_disabled {
        return Some("disableHealthTimeout is set, so it is not repaired".to_owned());
    }
    if let Some(busy) = input.busy {
        return Some(busy.to_owned());
    }
    let total = input.machines.len();
    let limit = (total * MAX_UNHEALTHY / 100).max(1);
    if suspects.len() > limit {
        let count = suspects.len();
        return Some(format!(
            "{count} of {total} nodes of the pool are not healthy, more than {limit}: look for a common cause"
        ));
    }
    let is_silent = |it: &&Suspect<'_>| {
        let (suspects, all) = input
            .zones
            .get(it.machine.zone)
            .copied()
            .unwrap_or_default();
        suspects > 2 && suspects * 100 >= all * ZONE_UNHEALTHY
    };
    if let Some(one) = suspects.iter().find(is_silent) {
        let zone = one.machine.zone;
        return Some(format!("most nodes of zone {zone} are not healthy"));
    }
    let network = |it: &&Suspect<'_>| it.fault == Fault::Condition(NETWORK.into());
    if suspects.iter().filter(network).count() > 1 {
        return Some("several nodes have no network: look at the pod network".to_owned());
    }
    sight(input, suspects)
}

/// Why kvshoot's own sight may be what is wrong.
fn sight(input: &RepairInput<'_>, suspects: &[Suspect<'_>]) -> Option<String> {
    let health = input.health?;
    let difference = health.clock_difference.abs();
    if difference > CLOCK_DIFFERENCE {
        return Some(format!(
            "the clock of the API server differs by {difference}s, so ages are not known"
        ));
    }
    if health.stable_for < STABILITY {
        return Some(format!(
            "the API server and its controller manager have answered for {}s only",
            health.stable_for.as_secs()
        ));
    }
    let is_suspect = |node: &Arc<str>| suspects.iter().any(|it| it.machine.name == node);
    if !health.renewing.iter().any(|it| !is_suspect(it)) {
        return Some(
            "no other node renews its lease, so the API server may be at fault".to_owned(),
        );
    }
    if recent(input.repairs, time(input, health)).count() >= BUDGET {
        return Some(format!("{BUDGET} machines were repaired within an hour"));
    }
    None
}

/// Decides about one machine, once its pool may be repaired.
fn one(
    input: &RepairInput<'_>,
    health: &ObservedHealth,
    suspect: &Suspect<'_>,
    what: &str,
) -> RepairDecision {
    let wait = |why: &str| RepairDecision::Wait(why.to_owned());
    let Some(age) = suspect.age else {
        return wait("since when is not known");
    };
    let instance = suspect.machine.instance;
    if let Some(restart) = &instance.restart
        && instance.uid.as_ref() == Some(&restart.of)
    {
        // The decision was written, and the instance not deleted yet.
        return RepairDecision::Restart(what.to_owned());
    }
    if suspect.fault == Fault::NotReady(ConditionStatus::Unknown)
        && health
            .silent_for
            .get(suspect.machine.name)
            .is_none_or(|it| *it < SILENCE)
    {
        return wait("its lease moves, or was not watched for long enough");
    }
    if is_recovering(input, health, suspect) {
        return wait("a node that failed at the same time works again, so this one may follow");
    }
    let timeout = input.settings.timeout;
    let now = time(input, health);
    let restart = instance.restart.as_ref();
    let restart = restart.filter(|it| now.saturating_sub(it.at) < MEMORY);
    if restart.is_some() {
        return match age >= timeout {
            true => RepairDecision::Replace(format!("{what}, and a restart did not help")),
            false => wait("it was restarted"),
        };
    }
    let is_on_bad_host = suspect
        .machine
        .host
        .is_some_and(|it| health.bad_hosts.contains(it));
    let is_restart_useless =
        is_on_bad_host || suspect.fault == Fault::Condition(DISK_PRESSURE.into());
    match is_restart_useless {
        true if age >= timeout => RepairDecision::Replace(what.to_owned()),
        true if is_on_bad_host => wait("its host is not ready"),
        true => wait("a restart does not help"),
        false if age >= timeout / 2 => RepairDecision::Restart(what.to_owned()),
        false => wait(&format!(
            "it is restarted after {}s",
            (timeout / 2).as_secs()
        )),
    }
}

/// True if a fault that began at the same time has ended a short time ago. When the network of a zone is back, its nodes do
/// not report at the same moment: those that are left must not be taken for dead as soon as they are few.
fn is_recovering(input: &RepairInput<'_>, health: &ObservedHealth, suspect: &Suspect<'_>) -> bool {
    let passed = input.now.saturating_sub(health.at);
    let name = suspect.machine.name;
    let (began, silent) = (health.suspected_for.get(name), health.silent_for.get(name));
    let is_close = |one: Option<&Duration>, other: Option<&Duration>| {
        one.zip(other)
            .is_some_and(|(one, other)| one.abs_diff(*other) <= SILENCE)
    };
    // The controller manager may have marked one of them earlier.
    let has_same_cause = |it: &RecoveredFault| {
        is_close(Some(&it.began), began) || is_close(it.silent.as_ref(), silent)
    };
    let recent = input.recovered.iter();
    let mut recent = recent.filter(|it| it.ended + passed < STABILITY);
    recent.any(has_same_cause)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
