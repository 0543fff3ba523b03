//! Steps of etcd's membership.

use crate::render::control_plane::etcd::EtcdShape;
use crate::state::facts::{EtcdPod, EtcdStart, ObservedEtcd};
use crate::state::record::etcd::EtcdRecord;
use std::time::Duration;

/// Age of an observation up to which a step is taken: facts that a step relies on are new. An observation takes 5 s if a
/// member does not answer.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(10);
pub(crate) const NOT_OBSERVED: &str = "etcd has not been observed yet";

/// The next step of etcd, and the objects that it needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EtcdDecision {
    /// The StatefulSet; a step is taken once it has this shape.
    pub(crate) shape: EtcdShape,
    pub(crate) step: EtcdStep,
    /// Number of members that the API server knows.
    pub(crate) endpoints: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EtcdStep {
    /// All members are as wanted.
    Settled,
    /// Something else must happen first: a clause that stands alone.
    Wait(String),
    /// Data are lost, or not those of this shoot. Nothing is changed.
    Stop(String),
    /// The cluster is new, and is written to the record.
    Record(EtcdRecord),
    /// The API server must know other members first.
    MoveClients,
    AddLearner(u32),
    Promote(u32),
    Remove(u32),
    /// Moves the leadership from one member to the other.
    MoveLeader(u32, u32),
    /// Frees space of full databases: those of the members with these ordinals, in order.
    FreeSpace(Vec<u32>),
    /// Gives free space of a member's database back to its volume.
    Defragment(u32),
    /// Expands the volume of a member.
    Expand(u32),
    DeletePod(u32),
    DeleteClaim(u32),
}

/// Returns true if a member reports its status, and stays.
pub(super) fn answers(ordinal: u32, etcd: &ObservedEtcd) -> bool {
    etcd.pods
        .get(&ordinal)
        .is_some_and(|it| it.status.is_some() && !it.is_leaving)
}

/// Returns true if the pod was not created from the latest template.
pub(super) fn is_outdated(pod: &EtcdPod, etcd: &ObservedEtcd) -> bool {
    let latest = etcd.stateful_set.as_ref();
    let latest = latest.and_then(|it| it.revision.as_deref());
    pod.start == EtcdStart::New || latest.is_some_and(|it| it != &*pod.revision)
}
