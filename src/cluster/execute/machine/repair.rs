//! Repair of machines: the decision is written before anything is deleted.

use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::execute::adopt::with_preconditions;
use crate::cluster::execute::executor::Executor;
use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::core::node::PartialNode;
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::read;
use crate::state::action::{Repair, RepairKind};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names;
use jiff::Timestamp;
use serde_json::{Value, json};

impl Executor {
    /// Restarts a machine, or marks it for replacement, after its node was read once more.
    ///
    /// # Errors
    ///
    /// [`Error::MachineReady`] if the node is healthy by now, [`Error::Conflict`] if the machine is another one.
    pub(crate) async fn repair(&self, key: &ObjectKey, repair: &Repair) -> Result<(), Error> {
        let is_written = matches!(
            repair.kind,
            RepairKind::Restart {
                is_decided: true,
                ..
            }
        );
        if !is_written {
            self.ensure_unhealthy(&key.name).await?;
            self.count_repair(repair).await?;
            self.write_decision(key, repair).await?;
        }
        match &repair.kind {
            RepairKind::Restart { instance, .. } => self.delete_instance(&key.name, instance).await,
            RepairKind::Replace(_) => Ok(()),
        }
    }

    /// Reads the node of a machine once more: a healthy one is not repaired.
    async fn ensure_unhealthy(&self, machine: &str) -> Result<(), Error> {
        let shoot = self.client(ClusterSide::Shoot)?;
        let resource_ref = ResourceRef {
            name: Some(machine),
            ..ResourceRef::all(&resources::NODE, None)
        };
        let node = match shoot.get(resource_ref).await {
            Err(Error::NotFound { .. }) => return Ok(()),
            other => other?,
        };
        self.store_object((ClusterSide::Shoot, ObjectKind::Node), &node)?;
        let node: PartialNode = read(&resources::NODE, &node)?;
        let is_ready = node
            .ready_condition()
            .is_some_and(PartialCondition::is_true);
        let mut others = node.conditions().iter().filter(|it| it.kind != "Ready");
        match is_ready && others.all(PartialCondition::is_false) {
            true => Err(Error::MachineReady(machine.to_owned())),
            false => Ok(()),
        }
    }

    /// Counts the repair in the record, before it begins.
    async fn count_repair(&self, repair: &Repair) -> Result<(), Error> {
        let facts = self.observer.store.latest();
        let Some(record) = &facts.record else {
            return Ok(());
        };
        let times = repair.earlier.iter().chain([&repair.time]);
        let times: Vec<String> = times.map(i64::to_string).collect();
        let patch = json!({ "metadata": {
            "uid": &*record.uid,
            "annotations": { names::REPAIRS: times.join(",") },
        } });
        self.patch_record_object(record, &patch).await
    }

    async fn write_decision(&self, key: &ObjectKey, repair: &Repair) -> Result<(), Error> {
        let scope = (key.side, key.kind);
        let resource_ref = self.resource_ref(scope, &key.name);
        let conflict = || Error::Conflict {
            what: resource_ref.request_info("patch"),
        };
        let machine = match self.provider.get(resource_ref).await {
            Err(Error::NotFound { .. }) => return Err(conflict()),
            other => other?,
        };
        self.store_object(scope, &machine)?;
        let metadata = read::<PartialObject>(&resources::VIRTUAL_MACHINE, &machine)?.metadata;
        if metadata.uid != *repair.uid || metadata.is_deleting() {
            return Err(conflict());
        }
        let annotations = decision(repair);
        let patch = json!({ "metadata": { "annotations": annotations } });
        let patch = with_preconditions(patch, &repair.uid, &metadata.resource_version);
        let limit = self.write_timeout()?;
        let answer = self.provider.patch(resource_ref, &patch, limit).await?;
        self.store_object(scope, &answer)
    }

    /// Deletes the instance with this UID, if it still exists.
    async fn delete_instance(&self, machine: &str, uid: &str) -> Result<(), Error> {
        let scope = (ClusterSide::Provider, ObjectKind::VirtualMachineInstance);
        let resource_ref = self.resource_ref(scope, machine);
        let limit = self.write_timeout()?;
        let key = ObjectKey::provider(scope.1, machine);
        match self.provider.delete(resource_ref, uid, None, limit).await {
            Ok(answer) => {
                let instance: Result<PartialVirtualMachineInstance, Error> =
                    read(&resources::VIRTUAL_MACHINE_INSTANCE, &answer);
                match instance {
                    Ok(it) if it.metadata.is_deleting() => self.store_object(scope, &answer),
                    _ => {
                        self.forget(&key, &uid.into());
                        Ok(())
                    }
                }
            }
            // It is gone, or another one has its name.
            Err(Error::NotFound { .. } | Error::Conflict { .. }) => {
                self.forget(&key, &uid.into());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Annotations of the machine.
fn decision(repair: &Repair) -> Value {
    match &repair.kind {
        RepairKind::Restart { instance, .. } => {
            let time = Timestamp::from_second(repair.time).unwrap_or_default();
            json!({ names::RESTARTED_AT: time.to_string(), names::RESTART_OF: &**instance })
        }
        RepairKind::Replace(why) => json!({ names::REPLACE: &**why }),
    }
}
