//! Machines on provider nodes that are being drained, of all shoots of the namespace.

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use super::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use super::objects::reader::read_all;
use super::observe::parse::machine::evacuation;
use crate::cluster::client::api_client::ApiClient;
use crate::state::names::{self, role};
use std::collections::BTreeMap;
use std::sync::Arc;

impl ApiClient {
    /// Names of machines that have to be migrated or replaced, by the technical ID of their shoot.
    pub(crate) async fn evacuating_machines(
        &self,
    ) -> Result<BTreeMap<Arc<str>, Vec<Arc<str>>>, Error> {
        let selector = names::role_selector(role::MACHINE);
        let resource_ref =
            ResourceRef::all(&resources::VIRTUAL_MACHINE_INSTANCE, Some(self.namespace()));
        let instances = self.list(resource_ref, Some(&selector)).await?.items;
        let mut machines: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let instances: Vec<PartialVirtualMachineInstance> =
            read_all(&resources::VIRTUAL_MACHINE_INSTANCE, &instances)?;
        let now = self.current_time();
        let is_due =
            |it: &&PartialVirtualMachineInstance| evacuation(it).is_some_and(|it| it.1 <= now);
        for instance in instances.iter().filter(is_due) {
            let metadata = &instance.metadata;
            let shoot = metadata.label(names::PART_OF).unwrap_or_default();
            let machines: &mut Vec<Arc<str>> = machines.entry(shoot.into()).or_default();
            machines.push(metadata.name.as_str().into());
        }
        machines.values_mut().for_each(|it| it.sort());
        Ok(machines)
    }
}
