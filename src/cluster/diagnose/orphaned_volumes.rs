//! Volumes that stay plugged into machines that no longer need them.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::kubevirt::virtual_machine::PartialVirtualMachine;
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::reader::read_all;
use crate::cluster::objects::storage::PartialVolumeAttachment;
use crate::state::names;
use std::collections::HashSet;

/// Prefix of the names of the CSI driver's volumes, which are those of their PersistentVolumes. Volumes with other names
/// were plugged in by other programs.
const PREFIX: &str = "pvc-";

/// A volume of the CSI driver that is plugged into a running machine, but is neither part of the machine nor attached to
/// its node. No other machine can use it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OrphanedVolume {
    /// Name of the machine and of its node.
    pub(crate) machine: String,
    pub(crate) volume: String,
}

impl ApiClient {
    /// Finds volumes that are plugged into machines of a shoot and that nothing wants there.
    ///
    /// # Errors
    ///
    /// One of the API servers does not answer, or listing is forbidden.
    pub(crate) async fn orphaned_volumes(
        &self,
        shoot: &ApiClient,
        id: &str,
    ) -> Result<Vec<OrphanedVolume>, Error> {
        let mut orphaned = self.plugged_volumes(id).await?;
        if orphaned.is_empty() {
            return Ok(orphaned);
        }
        let mut wanted = self.volumes_of_machines(id).await?;
        // Read last: the driver plugs a volume in after its attachment was created, and the attachment remains until the
        // volume was unplugged.
        wanted.extend(shoot.volumes_of_nodes().await?);
        orphaned.retain(|it| !wanted.contains(it));
        Ok(orphaned)
    }

    async fn plugged_volumes(&self, id: &str) -> Result<Vec<OrphanedVolume>, Error> {
        let resource = &resources::VIRTUAL_MACHINE_INSTANCE;
        let all = ResourceRef::all(resource, Some(self.namespace()));
        let listed = self.list(all, Some(&names::selector(id))).await?;
        let instances: Vec<PartialVirtualMachineInstance> = read_all(resource, &listed.items)?;
        Ok(plugged(&instances))
    }

    async fn volumes_of_machines(&self, id: &str) -> Result<HashSet<OrphanedVolume>, Error> {
        let resource = &resources::VIRTUAL_MACHINE;
        let all = ResourceRef::all(resource, Some(self.namespace()));
        let listed = self.list(all, Some(&names::selector(id))).await?;
        let machines: Vec<PartialVirtualMachine> = read_all(resource, &listed.items)?;
        let volumes = machines.iter().flat_map(|machine| {
            let volumes = machine.volume_names();
            volumes.map(|it| volume_of(&machine.metadata.name, it))
        });
        Ok(volumes.collect())
    }

    async fn volumes_of_nodes(&self) -> Result<Vec<OrphanedVolume>, Error> {
        let handles = self.volume_handles().await?;
        let resource = &resources::VOLUME_ATTACHMENT;
        let listed = self.list(ResourceRef::all(resource, None), None).await?;
        let attachments: Vec<PartialVolumeAttachment> = read_all(resource, &listed.items)?;
        let attached = attachments.iter().map(|it| {
            let handle = handles.get(it.volume()).map(String::as_str);
            volume_of(&it.spec.node_name, handle.unwrap_or(it.volume()))
        });
        Ok(attached.collect())
    }
}

fn volume_of(machine: &str, volume: &str) -> OrphanedVolume {
    OrphanedVolume {
        machine: machine.to_owned(),
        volume: volume.to_owned(),
    }
}

/// The driver's volumes in machines that neither move nor end, which changes their volumes.
fn plugged(instances: &[PartialVirtualMachineInstance]) -> Vec<OrphanedVolume> {
    let at_rest = |it: &&PartialVirtualMachineInstance| {
        it.status.phase == "Running" && !it.is_migrating() && !it.metadata.is_deleting()
    };
    let plugged = instances.iter().filter(at_rest).flat_map(|instance| {
        let volumes = instance.plugged_volumes();
        let own = volumes.filter(|it| it.starts_with(PREFIX));
        own.map(|it| volume_of(&instance.metadata.name, it))
    });
    plugged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn instance(phase: &str, volumes: &Value) -> PartialVirtualMachineInstance {
        let object = json!({
            "metadata": { "name": "node-1", "uid": "1", "resourceVersion": "7" },
            "status": { "phase": phase, "volumeStatus": volumes },
        });
        serde_json::from_value(object).expect("an instance")
    }

    #[test]
    fn only_volumes_of_the_driver_in_running_machines_can_be_orphaned() {
        let volumes = json!([
            { "name": "root" },
            { "name": "pvc-1", "phase": "Ready", "hotplugVolume": { "attachPodName": "hp-volume-1" } },
            { "name": "pvc-2", "phase": "Ready" },
            { "name": "scratch", "phase": "Ready", "hotplugVolume": {} },
        ]);
        let running = instance("Running", &volumes);
        assert_eq!(plugged(&[running]), [volume_of("node-1", "pvc-1")]);
        let ended = instance("Succeeded", &volumes);
        assert_eq!(plugged(&[ended]), []);
    }
}
