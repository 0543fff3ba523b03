//! Pods of a control plane that is being stopped: they act on the shoot until they have ended, and the status of a workload
//! does not count those that are terminating.

use super::observation_store::ObservationStore;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::reader::read_all;
use crate::state::facts::{ControlPlanePods, Facts, ObservedRecord};
use crate::state::names::{self, COMPONENT, role::MACHINE};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Time between two lists.
const INTERVAL: Duration = Duration::from_secs(1);

/// Lists the pods while a shoot is being hibernated or restored, and some of its workloads are stopped. Never returns.
pub(crate) async fn watch_stopping_pods(
    provider: ApiClient,
    store: Arc<ObservationStore>,
    id: String,
) {
    let mut facts = store.subscribe();
    loop {
        if facts.wait_for(|it| is_due(it)).await.is_err() {
            return;
        }
        let seen = store.latest();
        match list(&provider, &id, &seen).await {
            Ok(pods) => {
                store.change(|cache, _| cache.static_facts.control_plane_pods = Some(pods.into()));
            }
            Err(error) => tracing::debug!(%error, "cannot list the pods of the control plane"),
        }
        sleep(INTERVAL).await;
    }
}

/// Returns true if there may be pods of a workload that is stopped.
fn is_due(facts: &Facts) -> bool {
    let is_stopping = |record: &ObservedRecord| {
        let hibernation = &record.hibernation;
        let etcd = record.etcd.as_ref();
        let is_restored = etcd.is_some_and(|it| it.exclusive_restore().is_some());
        hibernation.enabled && !hibernation.complete || is_restored
    };
    facts.record.as_ref().is_some_and(is_stopping)
        && facts
            .workloads()
            .any(|(key, _, rollout)| rollout.is_stopped() && facts.remaining_pods(key) != Some(0))
}

async fn list(provider: &ApiClient, id: &str, seen: &Facts) -> Result<ControlPlanePods, Error> {
    let selector = format!("{},{COMPONENT},{COMPONENT}!={MACHINE}", names::selector(id));
    let resource_ref = ResourceRef::all(&resources::POD, Some(provider.namespace()));
    let listed = provider.list(resource_ref, Some(&selector)).await?;
    let pods: Vec<PartialPod> = read_all(&resources::POD, &listed.items)?;
    let workloads = seen.workloads();
    Ok(ControlPlanePods {
        workloads: workloads
            .map(|(key, object, _)| (key.clone(), object.version.clone()))
            .collect(),
        counts: count(id, &pods),
    })
}

/// Numbers of pods by the names of their workloads.
fn count(id: &str, pods: &[PartialPod]) -> BTreeMap<Arc<str>, usize> {
    let mut counts = BTreeMap::new();
    for pod in pods.iter().filter(|it| !it.is_over()) {
        if let Some(part) = pod.metadata.label(COMPONENT) {
            let workload = names::control_plane(id, part);
            *counts.entry(workload.into()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::complete;
    use crate::state::facts::{ObjectStatus, ObservedObject, Rollout};
    use crate::state::hash::Hash;
    use crate::state::key::{ObjectKey, ObjectKind};
    use crate::state::record::etcd::{EtcdRecord, EtcdRestore, RestoreStage};
    use crate::state::record::hibernation::HibernationRecord;
    use serde_json::{Value, json};

    fn pod(part: Option<&str>, phase: &str, is_deleting: bool) -> Value {
        let deleted = is_deleting.then_some("2026-11-23T19:00:00Z");
        complete(json!({
            "metadata": { "labels": { COMPONENT: part }, "deletionTimestamp": deleted },
            "spec": { "containers": [] },
            "status": { "phase": phase },
        }))
    }

    #[test]
    fn terminating_pods_count_and_those_that_have_ended_do_not() {
        let pods = [
            pod(Some("kube-apiserver"), "Running", true),
            pod(Some("kube-apiserver"), "Pending", false),
            pod(Some("kube-apiserver"), "Failed", false),
            pod(Some("etcd"), "Succeeded", true),
            pod(None, "Running", false),
        ];
        let pods = read_all(&resources::POD, &pods).expect("pods");
        let counts = count("a", &pods);
        assert_eq!(counts, BTreeMap::from([("a-kube-apiserver".into(), 2)]));
    }

    #[test]
    fn pods_are_listed_only_while_a_workload_is_being_stopped() {
        let key = ObjectKey::provider(ObjectKind::Deployment, "a-kube-apiserver");
        let workload = ObservedObject {
            uid: "u".into(),
            version: "7".into(),
            hash: Hash::default(),
            leaving: false,
            status: ObjectStatus::Rollout(Rollout::default()),
        };
        let mut facts = Facts {
            record: Some(ObservedRecord::default()),
            objects: [(key.clone(), workload)].into(),
            ..Facts::default()
        };
        assert!(!is_due(&facts), "it is not hibernating");
        let hibernation = HibernationRecord::default().decided(true, 1);
        facts.record.as_mut().expect("it exists").hibernation = hibernation;
        assert!(is_due(&facts));
        let listed = |version: &str| ControlPlanePods {
            workloads: [(key.clone(), version.into())].into(),
            counts: BTreeMap::new(),
        };
        facts.control_plane_pods = Some(listed("6").into());
        assert!(is_due(&facts), "they were listed before it was stopped");
        facts.control_plane_pods = Some(listed("7").into());
        assert!(!is_due(&facts), "all are gone");

        facts.control_plane_pods = None;
        for (stage, expected) in [
            (RestoreStage::Receive, true),
            (RestoreStage::Reconcile, false),
        ] {
            let restore = EtcdRestore {
                backup: "namespace/id/name".to_owned(),
                snapshot: 9,
                target: 5,
                stage,
            };
            facts.record = Some(ObservedRecord {
                etcd: Some(EtcdRecord {
                    incarnation: 4,
                    cluster_id: "1".to_owned(),
                    revision: 7,
                    restore: Some(restore),
                }),
                ..ObservedRecord::default()
            });
            assert_eq!(is_due(&facts), expected, "{stage:?}");
        }
    }
}
