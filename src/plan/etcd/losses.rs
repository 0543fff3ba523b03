//! Lost data are reported, and never replaced by an empty cluster.

use super::step::{EtcdStep, is_outdated};
use crate::render::control_plane::etcd::EtcdShape;
use crate::state::facts::{EtcdExit, EtcdPod, EtcdStart, ObservedEtcd};

/// The remedy for lost data.
const MEND: &str = "run kvshoot restore NAME --from DEST with a backup of the shoot, or delete the shoot and create it again";

/// Returns true if a member has ended because its data are lost. `has_started` is false for a learner that never had
/// any.
pub(super) fn is_lost(pod: &EtcdPod, has_started: bool) -> bool {
    !pod.runs && ended_without_data(pod, has_started)
}

/// Like [`is_lost`], for a member that may have been started again since.
fn ended_without_data(pod: &EtcdPod, has_started: bool) -> bool {
    match pod.exit {
        Some(EtcdExit::Empty) => has_started,
        Some(EtcdExit::OldCopy) => true,
        // The kubelet may have ended it.
        Some(EtcdExit::Removed) => !has_started,
        Some(EtcdExit::Other(_)) | None => false,
    }
}

/// A member with the data of another cluster than the given one, which is empty if it is not known.
pub(super) fn foreign_member(cluster_id: &str, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let mut pods = etcd.pods.iter();
    let is_foreign = |pod: &EtcdPod| {
        let status = pod.status.as_ref();
        status.is_some_and(|it| !cluster_id.is_empty() && *it.cluster_id != *cluster_id)
    };
    let (ordinal, _) = pods.find(|it| is_foreign(it.1))?;
    Some(EtcdStep::Stop(format!(
        "member {ordinal} of etcd has the data of another cluster: nothing is changed, since the API server may have written to both; {MEND}"
    )))
}

/// Members that form two clusters: the first member, and those that joined it as new ones. Earlier releases did that
/// when high availability was switched on.
pub(super) fn split(etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let cluster = |pod: &EtcdPod| Some(pod.status.as_ref()?.cluster_id.clone());
    let first = cluster(etcd.pods.get(&0)?)?;
    let others = etcd.pods.iter().filter(|it| {
        let other = cluster(it.1);
        other.is_some_and(|it| it != first)
    });
    let others: Vec<u32> = others.map(|it| *it.0).collect();
    if others.is_empty() {
        return None;
    }
    Some(EtcdStep::Stop(format!(
        "etcd is split between member 0 and {}: the API server may have written to both; to continue with the data of member 0, run kvshoot backup NAME --to DEST, then kvshoot restore NAME --from DEST; the data of the others are lost",
        members(&others)
    )))
}

/// Names members in a sentence: "member 1", "members 1 and 2".
fn members(ordinals: &[u32]) -> String {
    let names: Vec<String> = ordinals.iter().map(u32::to_string).collect();
    let noun = if names.len() == 1 {
        "member"
    } else {
        "members"
    };
    format!("{noun} {}", names.join(" and "))
}

/// The members answer with less than what they had confirmed.
pub(super) fn old_copy(recorded: u64, revision: u64) -> EtcdStep {
    EtcdStep::Stop(format!(
        "etcd is at revision {revision}, and was at {recorded}: its volume is an old copy; {MEND}"
    ))
}

/// Steps without a quorum: no membership changes, but pods that do not work get the latest template.
pub(super) fn without_quorum(
    wanted: u32,
    shape: &EtcdShape,
    etcd: &ObservedEtcd,
    why: &str,
) -> EtcdStep {
    let lost: Vec<u32> = (etcd.pods.iter())
        .filter(|it| ended_without_data(it.1, true))
        .map(|it| *it.0)
        .collect();
    let quorum = shape.replicas / 2 + 1;
    let left = shape.replicas.saturating_sub(lost.len() as u32);
    if !lost.is_empty() && left < quorum {
        let survivor = etcd.pods.iter().find(|it| it.1.status.is_some());
        let mend = match survivor {
            None => MEND.to_owned(),
            Some((ordinal, _)) => format!(
                "member {ordinal} has its data, and no quorum: save them with kvshoot backup NAME --to DEST --without-quorum, and continue with them by kvshoot restore NAME --from DEST"
            ),
        };
        let (volumes, have) = match lost.len() {
            1 => ("volume", "has"),
            _ => ("volumes", "have"),
        };
        return EtcdStep::Stop(format!(
            "the {volumes} of etcd {} {have} no data of this cluster: {mend}",
            members(&lost)
        ));
    }
    if etcd.stateful_set.is_none() && etcd.claims.is_empty() {
        return EtcdStep::Stop(format!("the volumes of etcd do not exist: {MEND}"));
    }
    let is_sealed = |pod: &EtcdPod| pod.start == EtcdStart::Sealed && !pod.is_leaving;
    let is_current = |pod: &EtcdPod| is_sealed(pod) && pod.is_ready && !is_outdated(pod, etcd);
    let current = etcd.pods.values().filter(|it| is_current(it)).count();
    if shape.replicas == wanted && current == wanted as usize {
        return EtcdStep::Settled;
    }
    // One that is ready may be all that is left of the quorum.
    let may_restart = |pod: &EtcdPod| {
        is_outdated(pod, etcd) && !pod.is_leaving && (!pod.is_ready || shape.replicas == 1)
    };
    let mut pods = etcd.pods.iter();
    match pods.find(|it| may_restart(it.1)) {
        Some((ordinal, _)) => EtcdStep::DeletePod(*ordinal),
        None => EtcdStep::Wait(why.to_owned()),
    }
}
