//! The health of a shoot, for status and wait.

use super::pools::worker_size;
use crate::app::error::{CommandError, failed};
use crate::app::lifecycle::scale::sizes;
use crate::cluster::{ApiClient, FactsScope, RecordSnapshot};
use crate::load::{last_applied, recorded_outline};
use crate::plan;
use crate::state::conditions::{self, Condition, HealthInput};
use crate::state::facts::Facts;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use jiff::Timestamp;

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
    let facts = facts.await.map_err(failed)?;
    let mut seen = input(&facts, record);
    for key in missing_workloads(&facts, record) {
        seen.add_missing(&key);
    }
    Ok(seen)
}

/// Workloads of the last applied manifest that do not exist, by name; none if this version cannot read the manifest.
fn missing_workloads(facts: &Facts, record: &RecordSnapshot) -> Vec<ObjectKey> {
    let shoot = recorded_outline(&record.name, &record.data, Timestamp::now());
    let Some(shoot) = shoot else {
        return Vec::new();
    };
    let observed = Observed {
        facts: facts.clone().into(),
        ..Observed::default()
    };
    let is_workload = |it: &ObjectKey| {
        let kinds = [
            ObjectKind::StatefulSet,
            ObjectKind::Deployment,
            ObjectKind::DaemonSet,
        ];
        kinds.contains(&it.kind)
    };
    let parts = plan::plan(&shoot, &observed).parts.into_iter();
    let missing = parts.filter(|it| is_workload(it) && !facts.objects.contains_key(it));
    let mut missing: Vec<ObjectKey> = missing.collect();
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
    HealthInput::of(facts, wanted.sum(), has_network)
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
        let missing = missing_workloads(&Facts::default(), &record);
        let has = |key: ObjectKey| missing.contains(&key);
        assert!(has(ObjectKey::shoot(
            ObjectKind::DaemonSet,
            "kube-system/kubevirt-csi-node"
        )));
        let etcd = "shoot--dev--demo-etcd";
        assert!(has(ObjectKey::provider(ObjectKind::StatefulSet, etcd)));
    }
}
