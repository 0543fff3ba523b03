//! The next step of etcd's membership. A pure function of what was observed in one round.

use super::step::{EtcdDecision, EtcdStep, answers, is_outdated};
use super::{losses, restore, rolls};
use crate::render::control_plane::etcd::{EtcdShape, FIRST};
use crate::state::facts::{EtcdExit, EtcdMembership, EtcdPod, EtcdStart, ObservedEtcd};
use crate::state::record::etcd::{EtcdRecord, RestoreStage};

/// Decides on `wanted` members. `record` is what the record knows of the cluster.
pub(crate) fn decide(
    wanted: u32,
    record: Option<&EtcdRecord>,
    etcd: &ObservedEtcd,
) -> EtcdDecision {
    let restore = record.and_then(EtcdRecord::exclusive_restore);
    // One member has the data of the snapshot; the others join when the restore is complete.
    let wanted = match restore {
        Some(restore) if restore.stage < RestoreStage::Clean => {
            return restore::decide(restore, etcd);
        }
        Some(_) => 1,
        None => wanted,
    };
    let shape = shape(wanted, record, etcd);
    let step = match record {
        None => found(&shape, etcd),
        Some(record) => keep(wanted, record, &shape, etcd),
    };
    EtcdDecision {
        endpoints: endpoints(wanted, etcd),
        shape,
        step,
    }
}

fn shape(wanted: u32, record: Option<&EtcdRecord>, etcd: &ObservedEtcd) -> EtcdShape {
    let current = etcd.stateful_set.as_ref();
    let incarnation = match (record, current) {
        (Some(record), _) => record.incarnation,
        (None, Some(current)) => current.incarnation,
        (None, None) => FIRST,
    };
    let kept = |start, replicas| EtcdShape {
        replicas,
        start,
        voters: Vec::new(),
        incarnation,
        snapshot: 0,
    };
    let replicas = current.map(|it| it.replicas);
    let start = current.map_or(EtcdStart::Sealed, |it| it.start);
    match (record, &etcd.membership) {
        (None, _) => match current {
            Some(current) => kept(current.start, current.replicas),
            None => kept(EtcdStart::New, 1),
        },
        // The first change of a cluster of an earlier release seals it, and nothing else.
        (Some(_), _) if start == EtcdStart::New => {
            kept(EtcdStart::Sealed, replicas.unwrap_or_default())
        }
        (Some(_), Ok(membership)) => {
            let start = match membership.learner() {
                Some((ordinal, _)) if ordinal < wanted => EtcdStart::Open(ordinal),
                _ => EtcdStart::Sealed,
            };
            EtcdShape {
                voters: match start {
                    EtcdStart::Open(_) => membership.voters(),
                    _ => Vec::new(),
                },
                ..kept(start, membership.replicas())
            }
        }
        // Without a quorum nothing is known but the volumes.
        (Some(_), Err(_)) => match replicas {
            Some(replicas) if replicas > 0 => kept(EtcdStart::Sealed, replicas),
            // It hibernates, or its StatefulSet was deleted.
            _ => {
                let highest = etcd.claims.keys().next_back();
                kept(EtcdStart::Sealed, highest.map_or(1, |it| it + 1))
            }
        },
    }
}

/// Number of members that the API server knows: fewer before members leave, more once all have joined.
fn endpoints(wanted: u32, etcd: &ObservedEtcd) -> u32 {
    match &etcd.client {
        None => wanted,
        Some(client) if client.endpoints >= wanted => wanted,
        Some(client) => match &etcd.membership {
            Ok(membership) if has_joined(wanted, membership) => wanted,
            _ => client.endpoints,
        },
    }
}

/// Returns true if exactly the wanted members vote, and there is no other.
fn has_joined(wanted: u32, membership: &EtcdMembership) -> bool {
    membership.learner().is_none() && membership.voters().into_iter().eq(0..wanted)
}

/// Steps until the record knows the cluster.
fn found(shape: &EtcdShape, etcd: &ObservedEtcd) -> EtcdStep {
    let cluster_id = match &etcd.membership {
        Ok(membership) => membership.cluster_id.to_string(),
        // It serves, and cannot be asked: some proxies forward no ports.
        Err(_) if etcd.pods.values().any(|it| it.is_ready) => String::new(),
        Err(why) => return EtcdStep::Wait(why.to_string()),
    };
    let stop = losses::split(etcd).or_else(|| losses::foreign_member(&cluster_id, etcd));
    if let Some(stop) = stop {
        return stop;
    }
    EtcdStep::Record(EtcdRecord {
        incarnation: shape.incarnation,
        cluster_id,
        revision: revision(etcd),
        restore: None,
    })
}

/// The highest revision that a member reports.
fn revision(etcd: &ObservedEtcd) -> u64 {
    let statuses = etcd.pods.values().filter_map(|it| it.status.as_ref());
    statuses.map(|it| it.revision).max().unwrap_or_default()
}

/// Steps of a cluster that the record knows.
fn keep(wanted: u32, record: &EtcdRecord, shape: &EtcdShape, etcd: &ObservedEtcd) -> EtcdStep {
    if let Some(stop) = losses::foreign_member(&record.cluster_id, etcd) {
        return stop;
    }
    let membership = match &etcd.membership {
        Ok(membership) => membership,
        Err(why) => return losses::without_quorum(wanted, shape, etcd, why),
    };
    if record.cluster_id.is_empty() {
        return found(shape, etcd);
    }
    if revision(etcd) < record.revision {
        return losses::old_copy(record.revision, revision(etcd));
    }
    let roll = rolls::roll(wanted, membership, etcd);
    // A restart may bring a larger quota, without which the alarm would come back.
    let restarts = matches!(
        roll,
        Some(EtcdStep::DeletePod(_) | EtcdStep::MoveLeader(..))
    );
    let steps = [
        (!restarts).then(|| free_space(membership, etcd)).flatten(),
        learner(wanted, membership, etcd),
        replace(membership, etcd),
        roll,
        grow(wanted, membership, etcd),
        shrink(wanted, membership, etcd),
        clean_up(shape, etcd),
        widen(wanted, etcd),
    ];
    let mut steps = steps.into_iter().flatten();
    steps.next().unwrap_or(EtcdStep::Settled)
}

/// Members with a full database reject writes of the API server. The leader comes last: its clients wait meanwhile.
fn free_space(membership: &EtcdMembership, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let is_full = |it: &EtcdPod| {
        let errors = it.status.iter().flat_map(|it| &it.errors);
        errors.into_iter().any(|it| it.contains("NOSPACE"))
    };
    if !etcd.pods.values().any(is_full) {
        return None;
    }
    let leader = rolls::leader(membership, etcd);
    let mut members: Vec<u32> = membership.members.keys().copied().collect();
    members.retain(|it| answers(*it, etcd));
    members.sort_by_key(|it| Some(*it) == leader);
    Some(EtcdStep::FreeSpace(members))
}

/// A learner is promoted, or removed if it is not wanted or has lost its data.
fn learner(wanted: u32, membership: &EtcdMembership, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let (ordinal, member) = membership.learner()?;
    let pod = etcd.pods.get(&ordinal);
    let is_lost = pod.is_some_and(|it| losses::is_lost(it, member.has_started));
    if ordinal >= wanted || is_lost {
        return Some(EtcdStep::Remove(ordinal));
    }
    Some(match pod {
        Some(pod) if pod.status.is_some() => EtcdStep::Promote(ordinal),
        Some(pod) if pod.is_leaving => {
            EtcdStep::Wait(format!("the old pod {ordinal} of etcd is terminating"))
        }
        // It was started before the template was opened for it.
        Some(pod) if is_outdated(pod, etcd) => EtcdStep::DeletePod(ordinal),
        _ => EtcdStep::Wait(format!("member {ordinal} of etcd is starting")),
    })
}

/// One member without its data is removed while the others have a quorum without it, and joins again.
fn replace(membership: &EtcdMembership, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let voters = membership.voters();
    let silent: Vec<u32> = voters
        .iter()
        .copied()
        .filter(|it| !answers(*it, etcd))
        .collect();
    let [lost] = silent[..] else {
        return None;
    };
    let is_lost = |it: &EtcdPod| losses::is_lost(it, true);
    let is_lost = etcd.pods.get(&lost).is_some_and(is_lost);
    // Two that answer are the quorum of three, and all of the two that are left.
    (is_lost && voters.len() >= 3).then_some(EtcdStep::Remove(lost))
}

/// The lowest ordinal that is free joins as a learner, on an empty volume.
fn grow(wanted: u32, membership: &EtcdMembership, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let voters = membership.voters();
    let free = (0..wanted).find(|it| !voters.contains(it))?;
    let has_claim = etcd.claims.get(&free);
    Some(match (etcd.pods.get(&free), has_claim) {
        (Some(pod), _) if pod.is_leaving => {
            EtcdStep::Wait(format!("the old pod {free} of etcd is terminating"))
        }
        (Some(pod), claim) => match (&pod.exit, claim) {
            (Some(EtcdExit::Empty), Some(claim)) if !claim.is_leaving => EtcdStep::AddLearner(free),
            (Some(EtcdExit::Other(_)) | None, _) => {
                EtcdStep::Wait(format!("pod {free} of etcd is starting"))
            }
            (Some(_), _) if pod.runs => EtcdStep::Wait(format!("pod {free} of etcd ends")),
            // Its volume has the data of the member that it was.
            (Some(_), Some(claim)) if !claim.is_leaving => EtcdStep::DeleteClaim(free),
            (Some(_), _) => EtcdStep::DeletePod(free),
        },
        (None, Some(claim)) if claim.is_leaving => {
            EtcdStep::Wait(format!("the old volume {free} of etcd is terminating"))
        }
        // The volume of an earlier member; no pod creates it again.
        (None, Some(_)) if free >= membership.replicas() => EtcdStep::DeleteClaim(free),
        (None, _) if free < membership.replicas() => {
            EtcdStep::Wait(format!("pod {free} of etcd is created"))
        }
        (None, _) => EtcdStep::AddLearner(free),
    })
}

/// The highest member leaves, after the API server has forgotten it and another one leads.
fn shrink(wanted: u32, membership: &EtcdMembership, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let highest = membership.voters().into_iter().next_back()?;
    if highest < wanted {
        return None;
    }
    if let Some(client) = &etcd.client
        && (client.endpoints > wanted || !client.is_rolled_out)
    {
        return Some(EtcdStep::MoveClients);
    }
    Some(match rolls::leader(membership, etcd) {
        None => EtcdStep::Wait("etcd has no leader".to_owned()),
        Some(leader) if leader >= wanted => match (0..wanted).find(|it| answers(*it, etcd)) {
            Some(next) => EtcdStep::MoveLeader(leader, next),
            None => EtcdStep::Wait("no member of etcd that stays answers".to_owned()),
        },
        Some(_) => EtcdStep::Remove(highest),
    })
}

/// Volumes of members that left are deleted, once their pods are gone.
fn clean_up(shape: &EtcdShape, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let left = etcd.pods.keys().find(|it| **it >= shape.replicas);
    if let Some(ordinal) = left {
        return Some(EtcdStep::Wait(format!(
            "pod {ordinal} of etcd is terminating"
        )));
    }
    let mut claims = etcd.claims.iter().filter(|it| *it.0 >= shape.replicas);
    claims
        .next()
        .map(|(ordinal, claim)| match claim.is_leaving {
            true => EtcdStep::Wait(format!("volume {ordinal} of etcd is terminating")),
            false => EtcdStep::DeleteClaim(*ordinal),
        })
}

/// The API server gets to know all members.
fn widen(wanted: u32, etcd: &ObservedEtcd) -> Option<EtcdStep> {
    let client = etcd.client.as_ref()?;
    (client.endpoints != wanted).then_some(EtcdStep::MoveClients)
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
