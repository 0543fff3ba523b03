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
        RestoreStage::Load | RestoreStage::Clean | RestoreStage::Reconcile => EtcdStart::Load,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::etcd::decide as next;
    use crate::state::facts::EtcdStatefulSet;
    use std::time::Duration;

    fn record(stage: RestoreStage) -> EtcdRecord {
        EtcdRecord {
            incarnation: 4,
            cluster_id: "1".to_owned(),
            revision: 7,
            restore: Some(EtcdRestore {
                backup: "namespace/id/name".to_owned(),
                snapshot: 9,
                target: 5,
                stage,
            }),
        }
    }

    /// The first member, made from the latest template, and its StatefulSet.
    fn observed(start: EtcdStart) -> ObservedEtcd {
        let pod = EtcdPod {
            uid: "uid".into(),
            version: "1".into(),
            revision: "latest".into(),
            start,
            is_ready: false,
            is_leaving: false,
            runs: false,
            exit: None,
            load_error: None,
            status: None,
        };
        ObservedEtcd {
            at: Duration::ZERO,
            stateful_set: Some(EtcdStatefulSet {
                claim_size: None,
                replicas: 1,
                start,
                incarnation: 5,
                quota: 0,
                revision: Some("latest".into()),
            }),
            pods: [(0, pod)].into(),
            ..ObservedEtcd::nothing()
        }
    }

    fn answering(start: EtcdStart, cluster_id: &str) -> ObservedEtcd {
        let mut etcd = observed(start);
        let pod = etcd.pods.get_mut(&0).expect("it is there");
        pod.status = Some(EtcdStatus {
            cluster_id: cluster_id.into(),
            member_id: "3".into(),
            leader: Some("3".into()),
            revision: 1_000_000_007,
            applied: 5,
            size: 1,
            size_in_use: 1,
            errors: Vec::new(),
        });
        etcd
    }

    #[test]
    fn a_member_of_another_template_is_restarted_and_others_are_waited_for() {
        let receive = record(RestoreStage::Receive);
        for start in [EtcdStart::Sealed, EtcdStart::Load, EtcdStart::Open(1)] {
            let decision = next(3, Some(&receive), &answering(start, "1"));
            assert_eq!(decision.step, EtcdStep::DeletePod(0), "{start:?}");
            assert_eq!(
                (decision.shape.replicas, decision.shape.start),
                (1, EtcdStart::Receive)
            );
        }
        let mut etcd = observed(EtcdStart::Receive);
        let other = etcd.pods[&0].clone();
        etcd.pods.insert(2, other);
        let step = next(3, Some(&receive), &etcd).step;
        assert_eq!(
            step,
            EtcdStep::Wait("pod 2 of etcd is terminating".to_owned())
        );
    }

    #[test]
    fn the_incarnation_rises_only_when_the_restored_member_answers() {
        let receive = record(RestoreStage::Receive);
        let received = next(1, Some(&receive), &answering(EtcdStart::Receive, "8"));
        assert_eq!(received.step, EtcdStep::Settled);
        let load = record(RestoreStage::Load);
        let waits = next(1, Some(&load), &observed(EtcdStart::Load));
        assert!(matches!(waits.step, EtcdStep::Wait(_)));
        assert_eq!((waits.shape.incarnation, waits.shape.snapshot), (5, 9));
        let loaded = next(1, Some(&load), &answering(EtcdStart::Load, "2"));
        let EtcdStep::Record(restored) = loaded.step else {
            panic!("{:?}", loaded.step);
        };
        assert_eq!((restored.incarnation, &*restored.cluster_id), (5, "2"));
        let stage = restored.restore.map(|it| it.stage);
        assert_eq!(stage, Some(RestoreStage::Clean));
    }

    #[test]
    fn a_snapshot_that_cannot_be_loaded_stops_the_restore() {
        let mut etcd = observed(EtcdStart::Load);
        etcd.pods.get_mut(&0).expect("it is there").load_error = Some("data-dir not empty".into());
        let step = next(1, Some(&record(RestoreStage::Load)), &etcd).step;
        let EtcdStep::Stop(why) = step else {
            panic!("{step:?}");
        };
        assert!(why.contains("data-dir not empty"), "{why}");
    }
}
