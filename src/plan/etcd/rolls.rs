//! Restart of members with an old template: one at a time, the leader last, and not before another one leads.

use super::step::{EtcdStep, answers, is_outdated};
use crate::state::facts::{EtcdMembership, EtcdStatus, ObservedEtcd};

/// Entries that a member may be behind the others when one of them restarts.
const MAX_LAG: u64 = 1000;

/// The next restart, or what it waits for. None if all wanted members answer and are up to date.
pub(super) fn roll(
    wanted: u32,
    membership: &EtcdMembership,
    etcd: &ObservedEtcd,
) -> Option<EtcdStep> {
    let voters = membership.voters();
    let stay: Vec<u32> = voters.iter().copied().filter(|it| *it < wanted).collect();
    if let Some(step) = stay.iter().find_map(|it| until_it_answers(*it, etcd)) {
        return Some(step);
    }
    // Others join or leave first if no member can be spared, unless there is no API server yet.
    let can_spare = match voters.len() {
        1 => wanted == 1,
        2 => false,
        _ => voters.iter().all(|it| answers(*it, etcd)),
    };
    if !can_spare && etcd.client.is_some() {
        return None;
    }
    let is_old = |it: &&u32| etcd.pods.get(it).is_some_and(|it| is_outdated(it, etcd));
    let old: Vec<u32> = stay.iter().filter(is_old).copied().collect();
    let highest = *old.last()?;
    if voters.len() == 1 {
        return Some(EtcdStep::DeletePod(highest));
    }
    if let Some(step) = stay
        .iter()
        .find_map(|it| until_it_is_ready(*it, &stay, etcd))
    {
        return Some(step);
    }
    let Some(leader) = leader(membership, etcd) else {
        return Some(EtcdStep::Wait("etcd has no leader".to_owned()));
    };
    let follower = old.iter().rev().find(|it| **it != leader);
    // Also one that leaves later.
    let next = voters
        .iter()
        .find(|it| **it != leader && answers(**it, etcd));
    if is_needed(*follower.unwrap_or(&leader), wanted, etcd) {
        return Some(EtcdStep::MoveClients);
    }
    Some(match (follower, next) {
        (Some(follower), _) => EtcdStep::DeletePod(*follower),
        (None, Some(next)) => EtcdStep::MoveLeader(leader, *next),
        (None, None) => EtcdStep::Wait(format!("no member of etcd can take over from {leader}")),
    })
}

/// Returns true if the API server cannot do without a member, because some of its pods know no other one yet.
fn is_needed(ordinal: u32, wanted: u32, etcd: &ObservedEtcd) -> bool {
    etcd.client.as_ref().is_some_and(|client| {
        let is_moving = client.endpoints < wanted || !client.is_rolled_out;
        ordinal < client.endpoints && is_moving && client.is_available
    })
}

/// The restart of a member that does not answer, which does no harm, or a wait for it.
pub(super) fn until_it_answers(ordinal: u32, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    match etcd.pods.get(&ordinal) {
        None => Some(EtcdStep::Wait(format!("pod {ordinal} of etcd is created"))),
        Some(pod) if pod.is_leaving => Some(EtcdStep::Wait(format!(
            "the old pod {ordinal} of etcd is terminating"
        ))),
        Some(pod) if pod.status.is_some() => None,
        Some(pod) if is_outdated(pod, etcd) && !pod.is_ready => Some(EtcdStep::DeletePod(ordinal)),
        Some(_) => Some(EtcdStep::Wait(format!(
            "member {ordinal} of etcd does not answer"
        ))),
    }
}

pub(super) fn until_it_is_ready(
    ordinal: u32,
    stay: &[u32],
    etcd: &ObservedEtcd,
) -> Option<EtcdStep> {
    let status = |it: &u32| etcd.pods.get(it)?.status.as_ref();
    let applied = |it: &EtcdStatus| it.applied;
    let newest = stay.iter().filter_map(status).map(applied).max()?;
    let pod = etcd.pods.get(&ordinal)?;
    if !pod.is_ready {
        let why = format!("member {ordinal} of etcd is not ready yet");
        return Some(EtcdStep::Wait(why));
    }
    let behind = newest.saturating_sub(applied(pod.status.as_ref()?));
    (behind > MAX_LAG).then(|| {
        EtcdStep::Wait(format!(
            "member {ordinal} of etcd is {behind} entries behind"
        ))
    })
}

/// Ordinal of the member that the others report as their leader.
pub(super) fn leader(membership: &EtcdMembership, etcd: &ObservedEtcd) -> Option<u32> {
    let statuses = etcd.pods.values().filter_map(|it| it.status.as_ref());
    let mut leaders = statuses.filter_map(|it| it.leader.as_deref());
    let first = leaders.next()?;
    // During an election they differ.
    if leaders.any(|it| it != first) {
        return None;
    }
    let mut members = membership.members.iter();
    members.find(|it| *it.1.id == *first).map(|it| *it.0)
}
