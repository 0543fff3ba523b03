//! Details of one machine that no list of machines has.

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use super::objects::condition::PartialCondition;
use super::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use super::objects::reader::{read, read_valid};
use super::objects::storage::PartialVolumeAttachment;
use crate::cluster::client::api_client::ApiClient;

/// The instance of a machine.
#[derive(Debug, Default)]
pub(crate) struct MachineDetail {
    /// Phase of the VirtualMachineInstance; empty without one.
    pub(crate) phase: String,
    /// Its conditions: type, status, and the message if there is one.
    pub(crate) conditions: Vec<(String, bool, String)>,
    /// Names of its volumes, and their phases.
    pub(crate) volumes: Vec<(String, String)>,
}

impl ApiClient {
    /// Reads the instance of a machine.
    ///
    /// # Errors
    ///
    /// Reading it is forbidden, or the server does not answer. A machine may lack an instance.
    pub(crate) async fn machine_detail(&self, machine: &str) -> Result<MachineDetail, Error> {
        let resource = &resources::VIRTUAL_MACHINE_INSTANCE;
        let resource_ref = ResourceRef::one(resource, self.namespace(), machine);
        let instance = match self.get_with_retry(resource_ref).await {
            Ok(instance) => instance,
            Err(Error::NotFound { .. }) => return Ok(MachineDetail::default()),
            Err(error) => return Err(error),
        };
        let instance: PartialVirtualMachineInstance = read(resource, &instance)?;
        let status = &instance.status;
        let condition = |it: &PartialCondition| {
            let message = it.message().unwrap_or_default().to_owned();
            (it.kind.clone(), it.is_true(), message)
        };
        Ok(MachineDetail {
            phase: status.phase.clone(),
            conditions: status.conditions.iter().map(condition).collect(),
            volumes: instance.volumes(),
        })
    }

    /// Names of the PersistentVolumes that are attached to a node of a shoot.
    ///
    /// # Errors
    ///
    /// The shoot's API server does not answer.
    pub(crate) async fn attached_to(&self, id: &str, node: &str) -> Result<Vec<String>, Error> {
        let shoot = self.shoot_client(id).await?;
        let resource = &resources::VOLUME_ATTACHMENT;
        let listed = shoot.list(ResourceRef::all(resource, None), None).await?;
        let all: Vec<PartialVolumeAttachment> = read_valid(resource, &listed.items);
        let here = all.iter().filter(|it| it.spec.node_name == node);
        Ok(here.map(|it| it.volume().to_owned()).collect())
    }
}
