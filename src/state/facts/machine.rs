//! Machines of the shoot.

use super::health::MachineInstance;
use crate::state::desired::machine_content::MachineContent;
use crate::state::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObservedMachine {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Hash of its content at its creation.
    pub(crate) hash: Hash,
    /// Its content now, after restarts that changed it. None for machines of earlier versions of kvshoot.
    pub(crate) content: Option<MachineContent>,
    /// Index of its zone in the pool.
    pub(crate) zone: usize,
    pub(crate) ordinal: u32,
    /// Seconds since 1970 by the server's clock: only the order counts.
    pub(crate) born: u64,
    pub(crate) phase: MachinePhase,
    /// Its VM runs. The node may still not be ready.
    pub(crate) runs: bool,
    pub(crate) sleep: MachineSleep,
    /// When it was decided to halt it, in seconds since 1970. None if it is awake, or an earlier version of kvshoot halted it.
    pub(crate) halted_at: Option<i64>,
    /// The answer to a drain of its host. None if its host is not drained, or KubeVirt migrates it by itself.
    pub(crate) evacuation: Option<Evacuation>,
    /// When this run first observed this phase.
    pub(crate) since: Duration,
    /// When this run first observed that no host can run it; None if KubeVirt does not report that now.
    pub(crate) unschedulable_since: Option<Duration>,
    /// Name of the golden volume that it was cloned from.
    pub(crate) image: Option<Arc<str>>,
    /// Other networks than the pod network, as `namespace/name`.
    pub(crate) networks: Arc<[Arc<str>]>,
    /// Its instancetype and its preference, as far as they are of the namespace, as `kind name`.
    pub(crate) types: Arc<[Arc<str>]>,
    /// The pool's labels and annotations on it, as canonical JSON.
    pub(crate) metadata: Arc<str>,
    /// KubeVirt's `printableStatus`: Running, Provisioning, ErrorUnschedulable…
    pub(crate) status: Arc<str>,
    /// Root cause that keeps it from running, once diagnosed.
    pub(crate) cause: Option<Arc<str>>,
    pub(crate) placement: Placement,
    pub(crate) instance: MachineInstance,
}

/// Where a machine is, and by which addresses it is reached.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Placement {
    /// Name of its zone.
    pub(crate) zone: Arc<str>,
    /// Node of the provider cluster; None until it is scheduled.
    pub(crate) host: Option<Arc<str>>,
    /// Addresses of all interfaces, in order.
    pub(crate) addresses: Arc<[Arc<str>]>,
    /// Addresses of the interface that its node uses. Its kubelet gets certificates for these.
    pub(crate) node_addresses: Arc<[IpAddr]>,
    /// When this run saw it start with another address than its node still had; None if that did not happen.
    pub(crate) readdressed: Option<Duration>,
    /// Its instance moves to another host, and its addresses may change.
    pub(crate) is_migrating: bool,
}

impl ObservedMachine {
    /// KubeVirt's status; Deleting during deletion.
    pub(crate) fn shown_status(&self) -> &str {
        match self.phase {
            MachinePhase::Deleting => "Deleting",
            _ => &self.status,
        }
    }

    /// Compares what the machines are made of. Restarts may have made that of different origins the same.
    pub(crate) fn has_content_of(&self, other: &ObservedMachine) -> bool {
        match (&self.content, &other.content) {
            (Some(own), Some(other)) => own.is_same(other),
            _ => self.hash == other.hash,
        }
    }

    /// True if it was marked for drain and deletion.
    pub(crate) fn is_draining(&self) -> bool {
        matches!(self.phase, MachinePhase::Draining | MachinePhase::Drained)
    }
}

/// Sleep of a machine, whose disks stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) enum MachineSleep {
    #[default]
    Awake,
    /// It was chosen to be halted, and its node is being emptied.
    Entering,
    Halted,
}

/// The answer to a drain of the host of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evacuation {
    /// It runs on, on another host.
    Migration,
    Replacement,
    /// It stays: its host is no longer drained, and KubeVirt does not know that.
    Cancellation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachinePhase {
    /// Not ready yet.
    Provisioning,
    Ready,
    /// Was ready once.
    NotReady,
    /// KubeVirt reports that it will not run.
    Failed,
    Draining,
    /// No pods are left on it.
    Drained,
    Deleting,
}
