//! Signs of the health of a shoot's nodes.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Movement of the nodes' Leases, never judged by clocks. Looked at only while a node is suspected.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ObservedHealth {
    /// Time of the look, since the run began.
    pub(crate) at: Duration,
    /// Time of the shoot's API server at that look, in seconds since 1970.
    pub(crate) time: i64,
    /// Clock of this computer minus that of the API server, in seconds.
    pub(crate) clock_difference: i64,
    /// For how long the API server and its controller manager have answered without a break.
    pub(crate) stable_for: Duration,
    /// By node: for how long its Lease has not moved while it was looked at.
    pub(crate) silent_for: BTreeMap<Arc<str>, Duration>,
    /// By node: when its kubelet last renewed its Lease by its own clock, in seconds since 1970.
    pub(crate) renewed_at: BTreeMap<Arc<str>, i64>,
    /// Nodes whose Lease was seen to move in the last minute.
    pub(crate) renewing: BTreeSet<Arc<str>>,
    /// By machine with a fault: for how long it was seen without a break.
    pub(crate) suspected_for: BTreeMap<Arc<str>, Duration>,
    /// By machine: a fault that ended, while another machine has one.
    pub(crate) recovered: BTreeMap<Arc<str>, RecoveredFault>,
    /// Nodes of the provider that are not ready. Empty if they cannot be read.
    pub(crate) bad_hosts: BTreeSet<Arc<str>>,
}

/// A fault of a machine that is no longer seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecoveredFault {
    /// Time since it was seen first.
    pub(crate) began: Duration,
    /// Time since its Lease stopped; None if it did not stop for a minute.
    pub(crate) silent: Option<Duration>,
    /// Time since it was no longer seen.
    pub(crate) ended: Duration,
}

/// Conditions of a node as its kubelet, or the controller manager, reports them.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct NodeConditions {
    /// None before the first report.
    pub(crate) ready: Option<NodeCondition>,
    /// Its kubelet has reported before, and no longer does.
    pub(crate) went_silent: bool,
    /// The others that are not False.
    pub(crate) raised: Arc<[(Arc<str>, NodeCondition)]>,
}

impl NodeConditions {
    /// True if nothing is wrong with the node, or it has not reported yet.
    pub(crate) fn is_healthy(&self) -> bool {
        let ready = self.ready.as_ref();
        self.raised.is_empty() && ready.is_none_or(|it| it.status == ConditionStatus::True)
    }
}

/// A condition, and since when it has its status.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeCondition {
    pub(crate) status: ConditionStatus,
    /// Last transition by the clock of the control plane, in seconds since 1970.
    pub(crate) since: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// The instance of a machine, and the decisions of repair on the machine.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct MachineInstance {
    /// UID of the VirtualMachineInstance; None if there is none.
    pub(crate) uid: Option<Arc<str>>,
    /// Its phase is Running.
    pub(crate) is_running: bool,
    /// The last restart that was decided.
    pub(crate) restart: Option<MachineRestart>,
    /// Why the machine is to be replaced; None if it is not.
    pub(crate) replace: Option<Arc<str>>,
}

/// A restart that was decided, maybe not yet carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineRestart {
    /// Seconds since 1970, by the clock of the shoot's API server.
    pub(crate) at: i64,
    /// UID of the instance that is, or was, deleted.
    pub(crate) of: Arc<str>,
}

/// One look at what moves in a shoot.
#[derive(Debug, Default)]
pub(crate) struct LeaseLook {
    /// Time of the API server, in seconds since 1970.
    pub(crate) time: i64,
    pub(crate) clock_difference: i64,
    /// `renewTime` of each node's Lease, as text: only changes of it count.
    pub(crate) leases: BTreeMap<Arc<str>, Arc<str>>,
    /// `renewTime` of the controller manager's Lease; None if there is none.
    pub(crate) manager: Option<Arc<str>>,
    /// Machines with a fault.
    pub(crate) suspects: BTreeSet<Arc<str>>,
    pub(crate) bad_hosts: BTreeSet<Arc<str>>,
}

/// Memory of earlier looks. All times are of one monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct LeaseWatch {
    /// Text of each Lease, since when it is known, and when it moved last.
    leases: BTreeMap<Arc<str>, WatchedLease>,
    manager: Option<WatchedLease>,
    suspects: BTreeMap<Arc<str>, Duration>,
    /// When the fault of each machine began and ended.
    recovered: BTreeMap<Arc<str>, (Duration, Duration)>,
    stable_since: Option<Duration>,
}

#[derive(Debug, Clone)]
struct WatchedLease {
    text: Arc<str>,
    /// When this text was seen first.
    since: Duration,
    has_moved: bool,
    /// When the last silence began that has ended.
    silence: Option<Duration>,
}

impl WatchedLease {
    fn next(before: Option<&WatchedLease>, text: &Arc<str>, now: Duration) -> WatchedLease {
        match before {
            Some(before) if before.text == *text => before.clone(),
            before => WatchedLease {
                text: text.clone(),
                since: now,
                has_moved: before.is_some(),
                silence: before.and_then(|it| it.last_silence(now)),
            },
        }
    }

    /// When the last time began in which it was not renewed.
    fn last_silence(&self, now: Duration) -> Option<Duration> {
        match now - self.since >= LeaseWatch::SILENCE {
            true => Some(self.since),
            false => self.silence,
        }
    }
}

impl LeaseWatch {
    /// Time without movement from which a Lease is not renewed.
    const SILENCE: Duration = Duration::from_secs(60);

    /// Forgets everything: what was not seen is not known.
    pub(crate) fn forget(&mut self) {
        *self = LeaseWatch::default();
    }

    /// Adds a look at `now`, and returns what all of them show; the times are relative to `now`.
    pub(crate) fn look(&mut self, look: LeaseLook, now: Duration) -> ObservedHealth {
        let leases = look.leases.iter().map(|(node, text)| {
            let lease = WatchedLease::next(self.leases.get(node), text, now);
            (node.clone(), lease)
        });
        self.leases = leases.collect();
        let manager = look.manager.as_ref();
        self.manager = manager.map(|it| WatchedLease::next(self.manager.as_ref(), it, now));
        let is_managed = self
            .manager
            .as_ref()
            .is_some_and(|it| now - it.since < Self::SILENCE);
        self.stable_since = is_managed.then(|| self.stable_since.unwrap_or(now));
        self.suspect(&look.suspects, now);
        let leases = self.leases.iter();
        let renewing = leases
            .clone()
            .filter(|it| it.1.has_moved && now - it.1.since < Self::SILENCE);
        ObservedHealth {
            at: Duration::ZERO,
            time: look.time,
            clock_difference: look.clock_difference,
            stable_for: self.stable_since.map_or(Duration::ZERO, |it| now - it),
            renewing: renewing.map(|it| it.0.clone()).collect(),
            silent_for: leases
                .map(|(node, it)| (node.clone(), now - it.since))
                .collect(),
            suspected_for: ago(&self.suspects, now),
            recovered: self.recovered(now),
            renewed_at: look.leases.iter().filter_map(renewed_at).collect(),
            bad_hosts: look.bad_hosts,
        }
    }

    /// Remembers which machines have a fault, and which had one.
    fn suspect(&mut self, machines: &BTreeSet<Arc<str>>, now: Duration) {
        let since = |it: &Arc<str>| self.suspects.get(it).copied().unwrap_or(now);
        let suspects = machines.iter().map(|it| (it.clone(), since(it))).collect();
        let before = std::mem::replace(&mut self.suspects, suspects);
        let ended = before.into_iter().map(|(name, began)| (name, (began, now)));
        self.recovered.extend(ended);
        self.recovered.retain(|it, _| !machines.contains(it));
    }

    fn recovered(&self, now: Duration) -> BTreeMap<Arc<str>, RecoveredFault> {
        let faults = self.recovered.iter().map(|(name, (began, ended))| {
            let lease = self.leases.get(name);
            let silence = lease.and_then(|it| it.last_silence(now));
            let fault = RecoveredFault {
                began: now - *began,
                silent: silence.map(|it| now - it),
                ended: now - *ended,
            };
            (name.clone(), fault)
        });
        faults.collect()
    }
}

fn renewed_at((node, text): (&Arc<str>, &Arc<str>)) -> Option<(Arc<str>, i64)> {
    let time: Timestamp = text.parse().ok()?;
    Some((node.clone(), time.as_second()))
}

fn ago(times: &BTreeMap<Arc<str>, Duration>, now: Duration) -> BTreeMap<Arc<str>, Duration> {
    let times = times.iter();
    times
        .map(|(name, since)| (name.clone(), now - *since))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(lease: &str, manager: &str) -> LeaseLook {
        LeaseLook {
            leases: [("node".into(), lease.into())].into(),
            manager: Some(manager.into()),
            suspects: ["lost".into()].into(),
            ..LeaseLook::default()
        }
    }

    #[test]
    fn the_last_renewal_is_known_by_the_clock_of_the_kubelet() {
        let mut watch = LeaseWatch::default();
        let health = watch.look(look("1970-01-02T00:00:01.5Z", "a"), Duration::ZERO);
        assert_eq!(health.renewed_at["node"], 86_401);
        let unreadable = watch.look(look("1999", "a"), Duration::ZERO);
        assert_eq!(unreadable.renewed_at.len(), 0);
    }

    #[test]
    fn a_fault_that_ended_is_known_while_another_one_lasts() {
        let seconds = Duration::from_secs;
        let with = |suspects: &[&str]| LeaseLook {
            suspects: suspects.iter().map(|it| Arc::from(*it)).collect(),
            ..look("1999", "a")
        };
        let mut watch = LeaseWatch::default();
        watch.look(with(&["a", "b"]), seconds(10));
        watch.look(with(&["b"]), seconds(30));
        let later = watch.look(with(&["b"]), seconds(50));
        let fault = RecoveredFault {
            began: seconds(40),
            silent: None,
            ended: seconds(20),
        };
        assert_eq!(later.recovered, [("a".into(), fault)].into());
        let again = watch.look(with(&["a", "b"]), seconds(60));
        assert!(again.recovered.is_empty(), "{again:?}");
    }

    #[test]
    fn the_silence_of_a_node_that_works_again_is_known() {
        let seconds = Duration::from_secs;
        let with = |lease: &str, suspects: &[&str]| LeaseLook {
            suspects: suspects.iter().map(|it| Arc::from(*it)).collect(),
            ..look(lease, "a")
        };
        let mut watch = LeaseWatch::default();
        watch.look(with("1999", &["node", "lost"]), seconds(10));
        watch.look(with("2000", &["node", "lost"]), seconds(80));
        watch.look(with("2001", &["lost"]), seconds(90));
        let later = watch.look(with("2002", &["lost"]), seconds(100));
        assert_eq!(later.recovered["node"].silent, Some(seconds(90)));
    }

    #[test]
    fn movement_counts_and_not_the_text() {
        let seconds = Duration::from_secs;
        let mut watch = LeaseWatch::default();
        let first = watch.look(look("1999", "a"), seconds(10));
        assert_eq!(first.silent_for["node"], Duration::ZERO);
        assert!(first.renewing.is_empty(), "it may be old");
        let moved = watch.look(look("1998", "b"), seconds(20));
        assert!(moved.renewing.contains("node"));
        assert_eq!(moved.stable_for, seconds(10));
        assert_eq!(moved.suspected_for["lost"], seconds(10));
        let silent = watch.look(look("1998", "c"), seconds(90));
        assert_eq!(silent.silent_for["node"], seconds(70));
        assert!(silent.renewing.is_empty());
        // The controller manager stands still.
        let frozen = watch.look(look("1998", "c"), seconds(160));
        assert_eq!(frozen.stable_for, Duration::ZERO);
        watch.forget();
        let again = watch.look(look("1998", "d"), seconds(170));
        assert_eq!(again.silent_for["node"], Duration::ZERO);
    }
}
