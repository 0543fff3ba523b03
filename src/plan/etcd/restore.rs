//! The steps of a restore: a member that stores the snapshot, then a member that starts with it.
//!
//! The member is the first of the StatefulSet, on its volume. Each attempt has a data directory of its own, and the record
//! names the incarnation of that directory only once the member serves from it: an attempt that was killed leaves nothing
//! that is taken for data.

use super::step::{EtcdDecision, EtcdStep, is_outdated};
use crate::render::control_plane::etcd::EtcdShape;
use crate::state::facts::{EtcdPod, EtcdStart, EtcdStatus, ObservedEtcd};
use crate::state::record::etcd::{EtcdRecord, EtcdRestore, RestoreStage};

/// Decides while a snapshot is stored or loaded. Nothing that writes to etcd runs meanwhile.
pub(super) fn decide(restore: &EtcdRestore, etcd: &ObservedEtcd) -> EtcdDecision {
    let start = match restore.stage {
        RestoreStage::Receive => EtcdStart::Receive,
        RestoreStage::Load | RestoreStage::Clean => EtcdStart::Load,
    };
    EtcdDecision {
        shape: EtcdShape {
            replicas: 1,
            start,
            voters: Vec::new(),
            incarnation: restore.target,
            snapshot: restore.snapshot,
        },
        step: step(restore, start, etcd),
        endpoints: 1,
    }
}

fn step(restore: &EtcdRestore, start: EtcdStart, etcd: &ObservedEtcd) -> EtcdStep {
    if let Some(other) = etcd.pods.keys().find(|it| **it > 0) {
        return EtcdStep::Wait(format!("pod {other} of etcd is terminating"));
    }
    match etcd.pods.get(&0) {
        None => EtcdStep::Wait("pod 0 of etcd is created".to_owned()),
        Some(pod) if pod.is_leaving => {
            EtcdStep::Wait("the old pod 0 of etcd is terminating".to_owned())
        }
        Some(pod) if pod.start != start || is_outdated(pod, etcd) => EtcdStep::DeletePod(0),
        Some(pod) => member(restore, pod),
    }
}

/// The step of a member that has the latest template.
fn member(restore: &EtcdRestore, pod: &EtcdPod) -> EtcdStep {
    match (restore.stage, &pod.status, &pod.load_error) {
        (RestoreStage::Receive, Some(_), _) => EtcdStep::Settled,
        (RestoreStage::Receive, None, _) => {
            EtcdStep::Wait("the member of etcd that receives the snapshot is starting".to_owned())
        }
        (_, Some(status), _) => EtcdStep::Record(restored(restore, status)),
        (_, None, Some(why)) => EtcdStep::Stop(format!(
            "etcdutl could not restore the snapshot: {why}; run kvshoot restore again, which begins with a new data directory"
        )),
        (_, None, None) => EtcdStep::Wait("etcd is starting with the snapshot".to_owned()),
    }
}

fn restored(restore: &EtcdRestore, status: &EtcdStatus) -> EtcdRecord {
    EtcdRecord {
        incarnation: restore.target,
        cluster_id: status.cluster_id.to_string(),
        revision: status.revision,
        restore: Some(EtcdRestore {
            stage: RestoreStage::Clean,
            ..restore.clone()
        }),
    }
}
