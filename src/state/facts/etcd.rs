//! etcd of a shoot: its pods, its volumes and its members.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// etcd as observed in one round. Members are known by their ordinals in the StatefulSet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObservedEtcd {
    /// When the round began, in time since the run began.
    pub(crate) at: Duration,
    /// None if it does not exist. It is watched: the planner adds it, and the last field, to what a round found.
    pub(crate) stateful_set: Option<EtcdStatefulSet>,
    pub(crate) pods: BTreeMap<u32, EtcdPod>,
    pub(crate) claims: BTreeMap<u32, EtcdClaim>,
    /// The members as a quorum of them agrees; otherwise why none answered.
    pub(crate) membership: Result<EtcdMembership, Arc<str>>,
    /// The API server, if it exists.
    pub(crate) client: Option<EtcdClientDeployment>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EtcdStatefulSet {
    pub(crate) replicas: u32,
    pub(crate) start: EtcdStart,
    /// Part of the name of the data directory. 0 for shoots of earlier releases, whose directory has no number.
    pub(crate) incarnation: u32,
    /// Most bytes of the database; 0 if the template does not say.
    pub(crate) quota: u64,
    /// Size of the volumes that it creates, as a quantity.
    pub(crate) claim_size: Option<Arc<str>>,
    /// Revision of its template; None until its controller has seen the latest one.
    pub(crate) revision: Option<Arc<str>>,
}

/// How a member starts if its volume has no data. With data, it continues where it stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EtcdStart {
    /// It founds a cluster.
    New,
    /// It fails.
    Sealed,
    /// The member with this ordinal joins as a learner, others fail.
    Open(u32),
    /// It stores the snapshot that it is sent, and has no data of the shoot.
    Receive,
    /// It fails, unless a data directory was made of the snapshot before.
    Load,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EtcdPod {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Revision of the template that it was created from.
    pub(crate) revision: Arc<str>,
    pub(crate) start: EtcdStart,
    pub(crate) is_ready: bool,
    pub(crate) is_leaving: bool,
    /// Its container runs now.
    pub(crate) runs: bool,
    /// Why its container ended last; None if the member has answered since.
    pub(crate) exit: Option<EtcdExit>,
    /// Why no data directory could be made of a snapshot.
    pub(crate) load_error: Option<Arc<str>>,
    /// None if the member does not answer.
    pub(crate) status: Option<EtcdStatus>,
}

/// Why a member ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum EtcdExit {
    /// Its volume has no data of this cluster.
    Empty,
    /// It is behind what it had confirmed: its volume was emptied, or is an old copy.
    OldCopy,
    /// Its data are those of a member that was removed; or the kubelet ended it, which looks the same.
    Removed,
    Other(Arc<str>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EtcdClaim {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) is_leaving: bool,
    /// Size in bytes that it requests, and that its volume has; None before it is bound.
    pub(crate) requested: u64,
    pub(crate) capacity: Option<u64>,
    /// State of its volume while that is being expanded.
    pub(crate) resizing: Option<Arc<str>>,
}

/// Members of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EtcdMembership {
    /// A decimal number, as all IDs of etcd.
    pub(crate) cluster_id: Arc<str>,
    pub(crate) members: BTreeMap<u32, EtcdMember>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EtcdMember {
    pub(crate) id: Arc<str>,
    pub(crate) is_learner: bool,
    /// It has started once.
    pub(crate) has_started: bool,
}

/// Status of a member, as it reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EtcdStatus {
    pub(crate) cluster_id: Arc<str>,
    pub(crate) member_id: Arc<str>,
    /// ID of the leader that it knows; None without one.
    pub(crate) leader: Option<Arc<str>>,
    pub(crate) revision: u64,
    /// Index of the last entry that it has applied.
    pub(crate) applied: u64,
    /// Size of its database, and of what is in use of it, in bytes.
    pub(crate) size: u64,
    pub(crate) size_in_use: u64,
    /// Alarms and other errors.
    pub(crate) errors: Vec<Arc<str>>,
}

/// The Deployment of the API server, as a client of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EtcdClientDeployment {
    /// Number of members that it knows.
    pub(crate) endpoints: u32,
    /// All of its pods run with them.
    pub(crate) is_rolled_out: bool,
    /// At least one of its pods serves.
    pub(crate) is_available: bool,
}

impl ObservedEtcd {
    /// Before anything exists.
    pub(crate) fn nothing() -> ObservedEtcd {
        ObservedEtcd {
            at: Duration::ZERO,
            stateful_set: None,
            pods: BTreeMap::new(),
            claims: BTreeMap::new(),
            membership: Err("etcd does not exist yet".into()),
            client: None,
        }
    }
}

impl EtcdMembership {
    /// Ordinals of the members that vote.
    pub(crate) fn voters(&self) -> Vec<u32> {
        let voters = self.members.iter().filter(|it| !it.1.is_learner);
        voters.map(|it| *it.0).collect()
    }

    /// The learner; etcd allows one.
    pub(crate) fn learner(&self) -> Option<(u32, &EtcdMember)> {
        let mut members = self.members.iter();
        members.find(|it| it.1.is_learner).map(|it| (*it.0, it.1))
    }

    /// Number of replicas of the StatefulSet that all members need.
    pub(crate) fn replicas(&self) -> u32 {
        self.members.keys().next_back().map_or(1, |it| it + 1)
    }
}
