//! Halting and starting machines, whose disks stay.

use super::drain::{BUDGET_PATIENCE, EvictionRule};
use crate::cluster::blocking_webhooks::webhook_refusal;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::execute::executor::Executor;
use crate::cluster::objects::kubevirt::virtual_machine::PartialVirtualMachine;
use crate::cluster::objects::reader::{read, read_all};
use crate::cluster::objects::storage::PartialVolumeAttachment;
use crate::state::action::{DeleteTarget, Halt, HaltPurpose};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::record::hibernation::{HIBERNATION, HibernationChange};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Executor {
    /// Writes a change of the hibernation to the record.
    pub(in crate::cluster::execute) async fn change_hibernation(
        &self,
        change: &HibernationChange,
    ) -> Result<(), Error> {
        let facts = self.observer.store.latest();
        let Some(record) = &facts.record else {
            return Err(Error::Missing("the record does not exist".to_owned()));
        };
        let next = record
            .hibernation
            .after(change, self.provider.current_time());
        let next = serde_json::to_string(&next).expect("numbers and flags");
        let data = json!({ HIBERNATION: next });
        self.patch_record(record, &data).await
    }

    /// Marks a machine (that write is the decision, which later runs do not repeat), empties its node, and halts it. Before, the
    /// claims of disks that become larger request that: a machine whose disks cannot is not halted.
    pub(in crate::cluster::execute) async fn halt(
        &self,
        key: &ObjectKey,
        halt: &Halt,
    ) -> Result<(), Error> {
        let uid = &halt.uid;
        if halt.purpose == HaltPurpose::Hibernation {
            self.refuse_blocking_webhooks().await?;
        }
        if !halt.is_marked {
            if let HaltPurpose::Resize(disks) = &halt.purpose {
                self.request_larger_disks(disks).await?;
            }
            let now = self.provider.current_time();
            let now = Timestamp::from_second(now).unwrap_or_default().to_string();
            let mark = json!({ "metadata": { "annotations": { names::HALTING: now } } });
            self.patch_machine(key, uid, mark).await?;
        }
        let target = DeleteTarget {
            key: key.clone(),
            uid: uid.clone(),
            version: "".into(),
            unless_ready: false,
            drain: Some(halt.limit),
            zone_failure: None,
        };
        let rule = match &halt.purpose {
            HaltPurpose::Hibernation => self.eviction_rule(),
            HaltPurpose::Resize(_) => EvictionRule::Respected,
        };
        self.drain_with(&target, rule).await?;
        let halted = json!({ "spec": { "runStrategy": "Halted" } });
        self.patch_machine(key, uid, halted).await
    }

    /// Budgets are respected for a time from the begin of the hibernation, not of this run, so that a run that follows
    /// others that were killed goes on.
    fn eviction_rule(&self) -> EvictionRule {
        let facts = self.observer.store.latest();
        let began = facts.record.as_ref().and_then(|it| it.hibernation.began);
        let passed = began.map_or(0, |it| self.provider.current_time().saturating_sub(it));
        let passed = Duration::from_secs(u64::try_from(passed).unwrap_or(0));
        EvictionRule::ThenDelete(BUDGET_PATIENCE.saturating_sub(passed))
    }

    /// # Errors
    ///
    /// A webhook would keep the shoot from waking. A shoot that does not answer is halted all the same.
    async fn refuse_blocking_webhooks(&self) -> Result<(), Error> {
        let facts = self.observer.store.latest();
        let is_forced = facts
            .record
            .as_ref()
            .is_some_and(|it| it.hibernation.forced);
        let Some(shoot) = self.observer.shoot_client().filter(|_| !is_forced) else {
            return Ok(());
        };
        match shoot.blocking_webhooks().await {
            Ok(webhooks) if webhooks.is_empty() => Ok(()),
            Ok(webhooks) => Err(Error::Missing(webhook_refusal(&webhooks))),
            Err(error) if error.is_ambiguous() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Starts a halted machine, and makes its node schedulable if it is still there. `size` is a merge patch.
    pub(in crate::cluster::execute) async fn start(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
        size: Option<Value>,
    ) -> Result<(), Error> {
        self.observer.clear_drain_status(uid);
        if let Some(shoot) = self.observer.shoot_client() {
            let resource_ref = ResourceRef {
                name: Some(&key.name),
                ..ResourceRef::all(&resources::NODE, None)
            };
            let patch = json!({ "spec": { "unschedulable": null } });
            match shoot
                .patch(resource_ref, &patch, self.write_timeout()?)
                .await
            {
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut started = size.unwrap_or_else(|| json!({}));
        started["metadata"]["annotations"][names::HALTING] = Value::Null;
        started["spec"]["runStrategy"] = json!("Always");
        self.patch_machine(key, uid, started).await
    }

    /// `patch` gets the UID of the machine.
    pub(super) async fn patch_machine(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
        mut patch: Value,
    ) -> Result<(), Error> {
        patch["metadata"]["uid"] = json!(&**uid);
        let scope = (ClusterSide::Provider, ObjectKind::Machine);
        let resource_ref = ResourceRef::one(
            &resources::VIRTUAL_MACHINE,
            self.provider.namespace(),
            &key.name,
        );
        match self
            .provider
            .patch(resource_ref, &patch, self.write_timeout()?)
            .await
        {
            Ok(answer) => self.store_object(scope, &answer),
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            Err(error) => Err(error),
        }
    }

    /// Deletes the VolumeAttachments of a node whose machine is halted, and returns true; false if its machine runs.
    pub(in crate::cluster::execute) async fn release_node(
        &self,
        machine: &Value,
        node: &str,
    ) -> Result<bool, Error> {
        let machine: PartialVirtualMachine = read(&resources::VIRTUAL_MACHINE, machine)?;
        if !machine.is_halted() {
            return Ok(false);
        }
        let shoot = self.client(ClusterSide::Shoot)?;
        let all = ResourceRef::all(&resources::VOLUME_ATTACHMENT, None);
        let listed = shoot.list(all, None).await?;
        let all: Vec<PartialVolumeAttachment> =
            read_all(&resources::VOLUME_ATTACHMENT, &listed.items)?;
        for one in all.iter().filter(|it| it.spec.node_name == node) {
            let resource_ref = ResourceRef {
                name: Some(&one.metadata.name),
                ..ResourceRef::all(&resources::VOLUME_ATTACHMENT, None)
            };
            let uid = &one.metadata.uid;
            match shoot
                .delete(resource_ref, uid, None, self.write_timeout()?)
                .await
            {
                Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
