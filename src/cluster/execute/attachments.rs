//! Attachments of volumes to nodes that are gone, whose deletion does not end.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::{read_all, read_valid};
use crate::cluster::objects::storage::{PartialPersistentVolume, PartialVolumeAttachment};
use crate::render::system::storage::DRIVER;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Finalizer of the CSI driver's attacher.
const FINALIZER: &str = "external-attacher/csi-kubevirt-io";

/// An attachment of a volume to a node that is gone, whose deletion was requested a while ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StaleAttachment {
    pub(crate) name: String,
    pub(crate) node: String,
    /// Name of its PersistentVolume.
    pub(crate) volume: String,
    /// Time since its deletion was requested.
    pub(crate) age: Duration,
    /// Why the volume may still be in use; None if nothing in the provider cluster has it.
    pub(crate) in_use: Option<String>,
    version: String,
    /// Without that of the attacher.
    finalizers: Vec<String>,
}

impl StaleAttachment {
    /// Time that the CSI driver has for the deletion, unless the user sets another.
    pub(crate) const AFTER: Duration = Duration::from_secs(10 * 60);
}

/// Everything in the provider namespace that may have a volume, of any shoot.
#[derive(Debug, Default)]
struct VolumeUsers {
    /// Names of VirtualMachines.
    machines: BTreeSet<String>,
    /// Names of VirtualMachineInstances, with the names of their volumes.
    instances: HashMap<String, Vec<String>>,
    /// Names of pods, with the names of their claims.
    pods: HashMap<String, Vec<String>>,
}

impl ApiClient {
    /// Attachments of a shoot to nodes that are gone, whose deletion was requested at least `age` ago. The CSI driver
    /// itself tries again every five minutes.
    ///
    /// # Errors
    ///
    /// One of the API servers does not answer, or listing is forbidden.
    pub(crate) async fn stale_attachments(
        &self,
        shoot: &ApiClient,
        age: Duration,
    ) -> Result<Vec<StaleAttachment>, Error> {
        let mut stale = shoot.old_attachments(age).await?;
        if stale.is_empty() {
            return Ok(stale);
        }
        let nodes = ResourceRef::all(&resources::NODE, None);
        let nodes = shoot.list_metadata(nodes, None).await?;
        let nodes: Vec<PartialObject> = read_all(&resources::NODE, &nodes.items)?;
        let nodes: BTreeSet<String> = nodes.into_iter().map(|it| it.metadata.name).collect();
        stale.retain(|it| !nodes.contains(&it.node));
        let handles = shoot.volume_handles().await?;
        let users = self.volume_users().await?;
        for attachment in &mut stale {
            // The CSI driver gives a volume and its PersistentVolume the same name.
            let handle = handles.get(&attachment.volume);
            let handle = handle.unwrap_or(&attachment.volume);
            attachment.in_use = users.find(&attachment.node, handle);
        }
        Ok(stale)
    }

    /// Ends the deletion of an attachment of this shoot. Nothing happens if it has changed since it was read.
    ///
    /// # Errors
    ///
    /// The attachment has changed, or the API server of the shoot does not answer.
    pub(crate) async fn end_attachment(&self, attachment: &StaleAttachment) -> Result<(), Error> {
        let resource_ref = ResourceRef {
            name: Some(&attachment.name),
            ..ResourceRef::all(&resources::VOLUME_ATTACHMENT, None)
        };
        let patch = json!({ "metadata": {
            "resourceVersion": attachment.version,
            "finalizers": attachment.finalizers,
        } });
        match self.patch(resource_ref, &patch, WRITE_TIMEOUT).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn old_attachments(&self, age: Duration) -> Result<Vec<StaleAttachment>, Error> {
        let resource = &resources::VOLUME_ATTACHMENT;
        let listed = self.list(ResourceRef::all(resource, None), None).await?;
        let all: Vec<PartialVolumeAttachment> = read_valid(resource, &listed.items);
        let now = self.current_time();
        let old = all.iter().filter_map(|it| old_attachment(it, now));
        Ok(old.filter(|it| it.age >= age).collect())
    }

    /// Names of the driver's volumes, by PersistentVolume.
    ///
    /// # Errors
    ///
    /// The API server of the shoot does not answer.
    pub(in crate::cluster) async fn volume_handles(
        &self,
    ) -> Result<HashMap<String, String>, Error> {
        let resource = &resources::VOLUME;
        let listed = self.list(ResourceRef::all(resource, None), None).await?;
        let all: Vec<PartialPersistentVolume> = read_all(resource, &listed.items)?;
        let handles = all.into_iter().filter_map(|it| {
            let handle = it.spec.handle(DRIVER)?.to_owned();
            Some((it.metadata.name, handle))
        });
        Ok(handles.collect())
    }

    async fn volume_users(&self) -> Result<VolumeUsers, Error> {
        let all = |resource| ResourceRef::all(resource, Some(self.namespace()));
        let (machine, instance, pod) = (
            &resources::VIRTUAL_MACHINE,
            &resources::VIRTUAL_MACHINE_INSTANCE,
            &resources::POD,
        );
        let machines = self.list_metadata(all(machine), None).await?;
        let machines: Vec<PartialObject> = read_all(machine, &machines.items)?;
        let instances = self.list(all(instance), None).await?;
        let instances: Vec<PartialVirtualMachineInstance> = read_all(instance, &instances.items)?;
        let pods = self.list(all(pod), None).await?;
        let pods: Vec<PartialPod> = read_all(pod, &pods.items)?;
        let instances = instances.into_iter().map(|it| {
            let volumes = it.volumes().into_iter().map(|it| it.0);
            let volumes = volumes.collect();
            (it.metadata.name, volumes)
        });
        let pods = pods.into_iter().filter(|it| !it.is_over()).map(|it| {
            let claims = it.claims().map(str::to_owned).collect();
            (it.metadata.name, claims)
        });
        Ok(VolumeUsers {
            machines: machines.into_iter().map(|it| it.metadata.name).collect(),
            instances: instances.collect(),
            pods: pods.collect(),
        })
    }
}

/// None for an attachment that is not being deleted, or of another driver.
fn old_attachment(attachment: &PartialVolumeAttachment, now: i64) -> Option<StaleAttachment> {
    let PartialVolumeAttachment { metadata, spec } = attachment;
    let since = metadata.deletion_timestamp.as_deref()?;
    let since: jiff::Timestamp = since.parse().ok()?;
    let mut finalizers = metadata.finalizers.clone();
    finalizers.retain(|it| it != FINALIZER);
    (finalizers.len() < metadata.finalizers.len()).then(|| StaleAttachment {
        name: metadata.name.clone(),
        node: spec.node_name.clone(),
        volume: attachment.volume().to_owned(),
        age: Duration::from_secs(u64::try_from(now - since.as_second()).unwrap_or_default()),
        in_use: None,
        version: metadata.resource_version.clone(),
        finalizers,
    })
}

impl VolumeUsers {
    /// Finds a user of a volume that was attached to this node, and says which one.
    fn find(&self, node: &str, volume: &str) -> Option<String> {
        if self.machines.contains(node) {
            return Some(format!("machine {node} exists"));
        }
        if self.instances.contains_key(node) {
            return Some(format!("instance {node} exists"));
        }
        let has = |names: &Vec<String>| names.iter().any(|it| it == volume);
        let instance = self.instances.iter().find(|it| has(it.1));
        let pod = self.pods.iter().find(|it| has(it.1));
        match (instance, pod) {
            (Some((name, _)), _) => Some(format!("instance {name} has its volume")),
            (None, Some((name, _))) => Some(format!("pod {name} mounts its volume")),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn attachment(finalizers: &Value, deleted: Option<&str>) -> PartialVolumeAttachment {
        let object = json!({
            "metadata": {
                "name": "csi-1",
                "uid": "1",
                "resourceVersion": "7",
                "finalizers": finalizers,
                "deletionTimestamp": deleted,
            },
            "spec": { "nodeName": "gone", "source": { "persistentVolumeName": "pvc-1" } },
        });
        serde_json::from_value(object).expect("an attachment")
    }

    #[test]
    fn only_deleted_attachments_of_the_driver_are_old() {
        let now = 1_800_000_600;
        let deleted = Some("2027-01-15T08:00:00Z");
        let ours = json!([FINALIZER, "example.org/keep"]);
        let old = old_attachment(&attachment(&ours, deleted), now).expect("it is deleted");
        assert_eq!(old.age, Duration::from_secs(600));
        assert_eq!(old.finalizers, ["example.org/keep"]);
        assert_eq!(old_attachment(&attachment(&ours, None), now), None);
        let others = json!(["external-attacher/other"]);
        assert_eq!(old_attachment(&attachment(&others, deleted), now), None);
    }

    #[test]
    fn a_volume_that_anything_may_have_is_in_use() {
        let one = |name: &str, volume: &str| [(name.to_owned(), vec![volume.to_owned()])].into();
        let nothing = VolumeUsers {
            machines: ["other".to_owned()].into(),
            instances: one("other", "pvc-2"),
            pods: one("virt-launcher-other", "pvc-2"),
        };
        assert_eq!(nothing.find("gone", "pvc-1"), None);
        for (users, why) in [
            (
                VolumeUsers {
                    machines: ["gone".to_owned()].into(),
                    ..VolumeUsers::default()
                },
                "machine gone exists",
            ),
            (
                VolumeUsers {
                    instances: one("gone", "root"),
                    ..VolumeUsers::default()
                },
                "instance gone exists",
            ),
            (
                VolumeUsers {
                    instances: one("other", "pvc-1"),
                    ..VolumeUsers::default()
                },
                "instance other has its volume",
            ),
            (
                VolumeUsers {
                    pods: one("hp-volume-1", "pvc-1"),
                    ..VolumeUsers::default()
                },
                "pod hp-volume-1 mounts its volume",
            ),
        ] {
            assert_eq!(users.find("gone", "pvc-1").as_deref(), Some(why));
        }
    }
}
