//! Live migration of machines whose hosts are being drained, and its end when they no longer are.

use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::execute::executor::Executor;
use crate::cluster::objects::kubevirt::migration::PartialMigration;
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::reader::read;
use crate::cluster::observe::parse::machine::{evacuation, migration_limit};
use crate::state::facts::Evacuation;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::printable::shortened;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Migrations of a machine that may fail before it is replaced.
const TRIES: usize = 2;
/// Interval between checks of a migration.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Longest reason in an annotation, in bytes.
const LONGEST_REASON: usize = 300;

/// The next step of an evacuation.
#[derive(Debug)]
enum MigrationStep<'a> {
    /// A migration is under way. The text is a clause.
    Wait(String),
    Begin,
    /// The machine is marked for replacement, for a reason, and a migration that is under way is cancelled.
    Replace(String, Option<&'a PartialMigration>),
}

impl Executor {
    /// Lets KubeVirt migrate a machine away from a host that is being drained, and returns when it runs elsewhere. A machine
    /// that cannot be migrated is marked for replacement.
    ///
    /// What was tried is read from the migrations, so that any run can continue it.
    pub(in crate::cluster::execute) async fn migrate(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
    ) -> Result<(), Error> {
        let mut written = None;
        while let Some(instance) = self.evacuated_instance(key, uid).await? {
            self.fence.remaining()?;
            let poll = Instant::now().checked_sub(POLL_INTERVAL);
            let all = match self
                .migrations
                .since(poll.max(written), &self.provider)
                .await
            {
                Err(error @ Error::Forbidden { .. }) => {
                    return self.give_up(key, uid, &instance, &error.to_string()).await;
                }
                other => other?,
            };
            if self.is_cancelled(key) {
                let own = all
                    .iter()
                    .find(|it| is_try(it, &instance) && !it.is_final());
                if let Some(running) = own {
                    self.cancel_migration(running).await?;
                }
                break;
            }
            let now = self.provider.current_time();
            match next_step(&instance, &all, now) {
                MigrationStep::Wait(what) => self.observer.set_drain_status(uid, &what),
                MigrationStep::Begin => match self.begin_migration(&instance).await {
                    Err(
                        error @ (Error::Forbidden { .. }
                        | Error::Rejected { .. }
                        | Error::QuotaExceeded { .. }),
                    ) => {
                        return self.give_up(key, uid, &instance, &error.to_string()).await;
                    }
                    other => {
                        other?;
                        written = Some(Instant::now());
                    }
                },
                MigrationStep::Replace(why, running) => {
                    if let Some(running) = running {
                        self.cancel_migration(running).await?;
                    }
                    return self.give_up(key, uid, &instance, &why).await;
                }
            }
            sleep(POLL_INTERVAL).await;
        }
        self.observer.clear_drain_status(uid);
        Ok(())
    }

    /// Asks KubeVirt to leave a machine on its host, which is no longer drained. If KubeVirt does not do that, the machine leaves
    /// its host after all.
    pub(in crate::cluster::execute) async fn cancel_evacuation(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
    ) -> Result<(), Error> {
        let Some(instance) = self.own_instance(key, uid).await? else {
            return Ok(());
        };
        let Some(host) = instance.evacuated_host() else {
            return Ok(());
        };
        let namespace = self.provider.namespace();
        let resource_ref = ResourceRef::one(&resources::INSTANCE_SUBRESOURCE, namespace, &key.name);
        let body = json!({ "evacuationNodeName": host });
        let limit = self.write_timeout()?;
        let answer = self
            .provider
            .replace_subresource(resource_ref, "evacuate/cancel", &body, limit)
            .await;
        let instance = self.own_instance(key, uid).await?;
        match answer {
            // KubeVirt responds without JSON, and says NotFound of an instance that has just ended.
            _ if instance.is_none_or(|it| it.evacuated_host().is_none()) => Ok(()),
            Err(Error::NotFound { .. } | Error::Forbidden { .. } | Error::Rejected { .. }) => {
                self.observer.forbid_cancellations();
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// True if the host of a machine is no longer drained.
    fn is_cancelled(&self, key: &ObjectKey) -> bool {
        let facts = self.observer.store.latest();
        let mut pools = facts.machines.values();
        let machine = pools.find_map(|it| it.get(&key.name));
        machine.is_some_and(|it| it.evacuation == Some(Evacuation::Cancellation))
    }

    /// The instance of a machine; None if it no longer has to be migrated.
    async fn evacuated_instance(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
    ) -> Result<Option<PartialVirtualMachineInstance>, Error> {
        let instance = self.own_instance(key, uid).await?;
        let is_migrated = |it: &PartialVirtualMachineInstance| {
            evacuation(it).is_some_and(|it| it.0 == Evacuation::Migration)
        };
        Ok(instance.filter(is_migrated))
    }

    /// The instance of a machine, as it is now.
    async fn own_instance(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
    ) -> Result<Option<PartialVirtualMachineInstance>, Error> {
        let scope = (ClusterSide::Provider, ObjectKind::VirtualMachineInstance);
        let answer = match self.provider.get(self.resource_ref(scope, &key.name)).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            other => other?,
        };
        self.store_object(scope, &answer)?;
        let instance: PartialVirtualMachineInstance =
            read(&resources::VIRTUAL_MACHINE_INSTANCE, &answer)?;
        let is_own = instance.metadata.owner_uid() == Some(&**uid);
        Ok(is_own.then_some(instance))
    }

    async fn begin_migration(&self, instance: &PartialVirtualMachineInstance) -> Result<(), Error> {
        let all = ResourceRef::all(&resources::MIGRATION, Some(self.provider.namespace()));
        let object = migration_object(instance);
        let limit = self.write_timeout()?;
        self.provider.create(all, &object, limit).await.map(drop)
    }

    async fn cancel_migration(&self, migration: &PartialMigration) -> Result<(), Error> {
        let metadata = &migration.metadata;
        let namespace = self.provider.namespace();
        let one = ResourceRef::one(&resources::MIGRATION, namespace, &metadata.name);
        let limit = self.write_timeout()?;
        match self.provider.delete(one, &metadata.uid, None, limit).await {
            Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Marks a machine for replacement, unless its host is uncordoned first.
    async fn give_up(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
        instance: &PartialVirtualMachineInstance,
        why: &str,
    ) -> Result<(), Error> {
        self.observer.clear_drain_status(uid);
        let why = format!("its host is being drained, and it cannot be migrated: {why}");
        let annotations = json!({
            names::MIGRATION_FAILED: shortened(&why, LONGEST_REASON),
            names::FAILED_EVICTION: instance.eviction(),
        });
        let mark = json!({ "metadata": { "annotations": annotations } });
        self.patch_machine(key, uid, mark).await
    }
}

/// It goes with its instance.
fn migration_object(instance: &PartialVirtualMachineInstance) -> Value {
    let metadata = &instance.metadata;
    let host = instance.evacuated_host().unwrap_or_default();
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {
            "generateName": format!("{}-", metadata.name),
            "labels": {
                names::MANAGED_BY: names::KVSHOOT,
                names::PART_OF: metadata.label(names::PART_OF),
            },
            "annotations": { names::EVACUATED_HOST: host },
            "ownerReferences": [{
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachineInstance",
                "name": metadata.name,
                "uid": metadata.uid,
            }],
        },
        "spec": { "vmiName": metadata.name },
    })
}

/// Decides from all migrations of the namespace. `now` is in seconds since 1970.
fn next_step<'a>(
    instance: &PartialVirtualMachineInstance,
    all: &'a [PartialMigration],
    now: i64,
) -> MigrationStep<'a> {
    let tries: Vec<&PartialMigration> = all.iter().filter(|it| is_try(it, instance)).collect();
    let last = tries.iter().max_by_key(|it| it.metadata.created());
    let failure = last.and_then(|it| it.failure());
    let because = failure.map(|it| format!(": {it}")).unwrap_or_default();
    let mut migrations = all.iter();
    let name = &instance.metadata.name;
    let running = migrations.find(|it| it.spec.vmi_name == *name && !it.is_final());

    let first = tries.iter().filter_map(|it| it.metadata.created()).min();
    let begun = instance.eviction_requested().or(first).unwrap_or(now);
    let limit = migration_limit(instance);
    if now.saturating_sub(begun) >= limit {
        let why = format!("that took more than {} minutes{because}", limit / 60);
        return MigrationStep::Replace(why, running);
    }
    if let Some(running) = running {
        return match is_out_of_quota(running, all) {
            true => {
                let why = "the quota of the namespace has no room for a second pod";
                MigrationStep::Replace(why.to_owned(), Some(running))
            }
            false => {
                let phase = running.phase();
                MigrationStep::Wait(format!("KubeVirt migrates it to another host: {phase}"))
            }
        };
    }
    match tries.iter().filter(|it| it.has_failed()).count() {
        TRIES.. => MigrationStep::Replace(format!("{TRIES} migrations failed{because}"), None),
        _ => MigrationStep::Begin,
    }
}

/// True for a migration of this evacuation, by kvshoot.
fn is_try(migration: &PartialMigration, instance: &PartialVirtualMachineInstance) -> bool {
    let metadata = &migration.metadata;
    let requested = instance.eviction_requested();
    metadata.owner_uid() == Some(&*instance.metadata.uid)
        && metadata.annotation(names::EVACUATED_HOST) == instance.evacuated_host()
        && requested.is_none_or(|it| metadata.created() >= Some(it))
}

/// True if no other migration will end and leave room for its pod.
fn is_out_of_quota(migration: &PartialMigration, all: &[PartialMigration]) -> bool {
    migration.is_over_quota() && all.iter().all(|it| it.is_final() || it.is_over_quota())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use std::slice::from_ref;

    const REQUESTED: i64 = 1_000_000_000;

    fn time(seconds: i64) -> String {
        let time = jiff::Timestamp::from_second(REQUESTED + seconds);
        time.expect("a time").to_string()
    }

    /// An instance whose eviction was requested, by a KubeVirt that says when.
    fn instance(says_when: bool) -> PartialVirtualMachineInstance {
        let condition = json!({
            "type": "EvictionRequested", "status": "True", "lastTransitionTime": time(0),
        });
        let conditions = if says_when { vec![condition] } else { vec![] };
        object(json!({
            "metadata": {
                "name": "m", "uid": "vmi", "labels": { names::PART_OF: "shoot--local--a" },
            },
            "spec": { "evictionStrategy": "External", "domain": { "memory": { "guest": "1Gi" } } },
            "status": { "evacuationNodeName": "host-1", "conditions": conditions },
        }))
    }

    fn migration(of: &str, at: i64, status: Value) -> PartialMigration {
        let mut migration = migration_object(&instance(true));
        migration["metadata"]["name"] = json!(format!("{of}-{at}"));
        migration["metadata"]["creationTimestamp"] = json!(time(at));
        migration["spec"]["vmiName"] = json!(of);
        migration["status"] = status;
        object(migration)
    }

    fn failed(at: i64) -> PartialMigration {
        let state = json!({ "failureReason": "no connection" });
        migration(
            "m",
            at,
            json!({ "phase": "Failed", "migrationState": state }),
        )
    }

    fn over_quota(of: &str) -> PartialMigration {
        let condition = json!({ "type": "migrationRejectedByResourceQuota", "status": "True" });
        migration(
            of,
            1,
            json!({ "phase": "Pending", "conditions": [condition] }),
        )
    }

    /// The next step in words, `after` so many seconds.
    fn step_of(says_when: bool, all: &[PartialMigration], after: i64) -> String {
        match next_step(&instance(says_when), all, REQUESTED + after) {
            MigrationStep::Wait(what) => format!("wait: {what}"),
            MigrationStep::Begin => "begin".to_owned(),
            MigrationStep::Replace(why, running) => match running {
                Some(running) => format!("cancel {}, replace: {why}", running.metadata.name),
                None => format!("replace: {why}"),
            },
        }
    }

    fn step(all: &[PartialMigration], after: i64) -> String {
        step_of(true, all, after)
    }

    #[test]
    fn a_migration_is_tried_twice() {
        assert_eq!(step(&[], 0), "begin");
        let running = migration("m", 1, json!({}));
        let waits = "wait: KubeVirt migrates it to another host: Pending";
        assert_eq!(step(from_ref(&running), 2), waits);
        assert_eq!(step(&[failed(1)], 2), "begin");
        assert_eq!(step(&[failed(1), running], 3), waits);
        let why = "replace: 2 migrations failed: no connection";
        assert_eq!(step(&[failed(1), failed(2)], 3), why);
    }

    #[test]
    fn migrations_of_others_and_of_earlier_drains_are_no_tries() {
        let mut others = failed(1);
        others.metadata.owner_references.clear();
        let mut elsewhere = failed(1);
        let notes = &mut elsewhere.metadata.annotations;
        notes.insert(names::EVACUATED_HOST.to_owned(), "host-2".to_owned());
        for one in [others, elsewhere, failed(-60)] {
            assert_eq!(step(&[one, failed(1)], 2), "begin");
        }
    }

    #[test]
    fn one_that_does_not_end_is_cancelled() {
        let running = migration("m", 1, json!({ "phase": "Running" }));
        let waits = "wait: KubeVirt migrates it to another host: Running";
        assert_eq!(step(from_ref(&running), 899), waits);
        let why = "cancel m-1, replace: that took more than 15 minutes";
        assert_eq!(step(from_ref(&running), 900), why);
        // KubeVirt before 1.7 does not say when the eviction was requested.
        assert_eq!(step_of(false, from_ref(&running), 900), waits);
        assert_eq!(step_of(false, &[running], 901), why);
        assert_eq!(step_of(false, &[], 9_999), "begin");
        let late = "replace: that took more than 15 minutes: no connection";
        assert_eq!(step(&[failed(1)], 900), late);
    }

    #[test]
    fn a_quota_that_other_migrations_will_leave_is_waited_for() {
        let full = "cancel m-1, replace: the quota of the namespace has no room for a second pod";
        let own = over_quota("m");
        assert_eq!(step(from_ref(&own), 2), full);
        assert_eq!(step(&[own.clone(), over_quota("other")], 2), full);
        let other = migration("other", 1, json!({ "phase": "Running" }));
        let waits = "wait: KubeVirt migrates it to another host: Pending";
        assert_eq!(step(&[own, other], 2), waits);
    }
}
