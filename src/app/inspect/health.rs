//! The health of a shoot, for status and wait.

use super::pools::worker_size;
use crate::app::error::{CommandError, failed};
use crate::app::inspect::recorded_hibernation::hibernation;
use crate::app::lifecycle::scale::sizes;
use crate::cluster::{ApiClient, FactsScope, RecordSnapshot};
use crate::load::{last_applied, recorded_outline};
use crate::plan::{self, ETCD_MEMBERS};
use crate::state::conditions::{self, Condition, HealthInput};
use crate::state::facts::{Facts, ObjectStatus, ObservedRecord};
use crate::state::failure::ErrorClass;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{control_plane, part};
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemKind, ItemState, Plan};
use crate::state::record::{ETCD, ROTATION};
use std::sync::Arc;

/// Returns the conditions of a shoot.
pub(crate) async fn conditions(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<Vec<Condition>, CommandError> {
    let seen = observe(provider, record).await?;
    Ok(conditions::conditions(&seen))
}

/// Reads what the conditions depend on from the provider cluster, and from the shoot if it is reachable.
pub(crate) async fn observe(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<HealthInput, CommandError> {
    let facts = provider.list_facts(record, FactsScope::HEALTH);
    let mut facts = facts.await.map_err(failed)?;
    let mut seen = input(&facts, record);
    if is_etcd_unhealthy(&facts, record) {
        // Without permission to do so, the reason is not known.
        let etcd = provider.observe_etcd(&record.name).await.ok();
        facts.etcd = etcd.map(Arc::new);
    }
    facts.record = Some(known_record(record));
    if let Some(plan) = planned(&facts, record) {
        add_planned(&mut seen, &facts, &plan);
    }
    Ok(seen)
}

/// The conditions by facts that are known already, with the plan of the last applied manifest.
pub(crate) fn judge(facts: &Facts, record: &RecordSnapshot, plan: &Plan) -> Vec<Condition> {
    let mut seen = input(facts, record);
    if let Some(record) = &facts.record {
        // The snapshot may be older.
        let hibernation = &record.hibernation;
        seen.hibernation = hibernation.enabled.then_some(hibernation.complete);
    }
    add_planned(&mut seen, facts, plan);
    conditions::conditions(&seen)
}

/// Adds what the plan says: workloads that are missing, and what is lost.
fn add_planned(seen: &mut HealthInput, facts: &Facts, plan: &Plan) {
    for key in missing_workloads(plan, facts) {
        seen.add_missing(&key);
    }
    seen.lost = losses(plan);
}

fn is_etcd_unhealthy(facts: &Facts, record: &RecordSnapshot) -> bool {
    let name = control_plane(&record.name, part::ETCD);
    let key = ObjectKey::provider(ObjectKind::StatefulSet, name);
    match facts.objects.get(&key).map(|it| &it.status) {
        Some(ObjectStatus::Rollout(rollout)) => rollout.why.is_some(),
        _ => true,
    }
}

/// Facts of the record about etcd, rotations and the hibernation.
fn known_record(record: &RecordSnapshot) -> ObservedRecord {
    let text = |key: &str| record.data.get(key).map(String::as_str).unwrap_or_default();
    ObservedRecord {
        name: record.name.clone(),
        uid: record.uid.clone(),
        etcd: serde_json::from_str(text(ETCD)).ok(),
        rotation: serde_json::from_str(text(ROTATION)).unwrap_or_default(),
        hibernation: hibernation(record).unwrap_or_default(),
        leaving: record.leaving,
        ..ObservedRecord::default()
    }
}

/// The plan of the last applied manifest; None if this version cannot read it.
fn planned(facts: &Facts, record: &RecordSnapshot) -> Option<Plan> {
    let shoot = recorded_outline(&record.name, &record.data, crate::clock::now())?;
    let observed = Observed {
        facts: facts.clone().into(),
        ..Observed::default()
    };
    Some(plan::plan(&shoot, &observed))
}

/// Keys and data that are lost, with the command that brings them back.
fn losses(plan: &Plan) -> Vec<Arc<str>> {
    let is_about_data = |it: &&Item| match &it.kind {
        ItemKind::Certificate(_) => true,
        ItemKind::Other(id) => &**id == ETCD_MEMBERS,
        _ => false,
    };
    let items = plan.items.iter().filter(is_about_data);
    let lost = items.filter_map(|it| match &it.state {
        ItemState::Failed(failure) if failure.class == ErrorClass::Missing => {
            Some(failure.message.as_str().into())
        }
        _ => None,
    });
    lost.collect()
}

/// Workloads of a plan that do not exist, by name.
fn missing_workloads(plan: &Plan, facts: &Facts) -> Vec<ObjectKey> {
    let is_workload = |it: &ObjectKey| {
        let kinds = [
            ObjectKind::StatefulSet,
            ObjectKind::Deployment,
            ObjectKind::DaemonSet,
        ];
        kinds.contains(&it.kind)
    };
    let parts = plan.parts.iter();
    let missing = parts.filter(|it| is_workload(it) && !facts.objects.contains_key(it));
    let mut missing: Vec<ObjectKey> = missing.cloned().collect();
    missing.sort();
    missing
}

/// The facts, judged by the manifest in the record.
pub(super) fn input(facts: &Facts, record: &RecordSnapshot) -> HealthInput {
    let shoot = last_applied(&record.data).map(|it| it.0);
    let workers = shoot.iter().flat_map(|it| &it.spec.provider.workers);
    let sizes = sizes(record);
    let wanted = workers.map(|it| worker_size(it, &sizes));
    let network = shoot.as_ref().map(|it| &it.spec.networking.type_);
    let has_network = network.is_none_or(|it| it != "none");
    let hibernation = hibernation(record).unwrap_or_default();
    HealthInput {
        hibernation: hibernation.enabled.then_some(hibernation.complete),
        ..HealthInput::of(facts, wanted.sum(), has_network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::record::{PROFILE, SHOOT};
    use crate::validate::testing as manifests;

    #[test]
    fn workloads_of_the_manifest_that_do_not_exist_are_missing() {
        let record = RecordSnapshot {
            namespace: "clusters".into(),
            name: "shoot--dev--demo".into(),
            uid: "1".into(),
            version: "1".into(),
            created: None,
            leaving: false,
            annotations: Default::default(),
            data: [
                (SHOOT.to_owned(), manifests::SHOOT.to_owned()),
                (PROFILE.to_owned(), manifests::PROFILE.to_owned()),
            ]
            .into(),
        };
        let facts = Facts::default();
        let plan = planned(&facts, &record).expect("the manifest is valid");
        let missing = missing_workloads(&plan, &facts);
        let has = |key: ObjectKey| missing.contains(&key);
        assert!(has(ObjectKey::shoot(
            ObjectKind::DaemonSet,
            "kube-system/kubevirt-csi-node"
        )));
        let etcd = "shoot--dev--demo-etcd";
        assert!(has(ObjectKey::provider(ObjectKind::StatefulSet, etcd)));
    }
}
