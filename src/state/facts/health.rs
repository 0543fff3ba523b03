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
    /// Nodes of the provider that are not ready. Empty if they cannot be read.
    pub(crate) bad_hosts: BTreeSet<Arc<str>>,
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
    stable_since: Option<Duration>,
}

#[derive(Debug, Clone)]
struct WatchedLease {
    text: Arc<str>,
    /// When this text was seen first.
    since: Duration,
    has_moved: bool,
}

impl WatchedLease {
    fn next(before: Option<&WatchedLease>, text: &Arc<str>, now: Duration) -> WatchedLease {
        match before {
            Some(before) if before.text == *text => before.clone(),
            before => WatchedLease {
                text: text.clone(),
                since: now,
                has_moved: before.is_some(),
            },
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
        let suspects = look.suspects.into_iter().map(|machine| {
            let since = self.suspects.get(&machine).copied().unwrap_or(now);
            (machine, since)
        });
        self.suspects = suspects.collect();
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
            renewed_at: look.leases.iter().filter_map(renewed_at).collect(),
            bad_hosts: look.bad_hosts,
        }
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
