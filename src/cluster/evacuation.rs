//! Machines on provider nodes that are being drained, of all shoots of the namespace.

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::json::arc;
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types::ParsedBody;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names::{self, role};
use std::collections::BTreeMap;
use std::sync::Arc;

impl ApiClient {
    /// Names of machines that have to be replaced elsewhere, by the technical ID of their shoot.
    pub(crate) async fn evacuating_machines(
        &self,
    ) -> Result<BTreeMap<Arc<str>, Vec<Arc<str>>>, Error> {
        let selector = format!(
            "{}={},{}={}",
            names::MANAGED_BY,
            names::KVSHOOT,
            names::COMPONENT,
            role::MACHINE
        );
        let resource_ref =
            ResourceRef::all(&resources::VIRTUAL_MACHINE_INSTANCE, Some(self.namespace()));
        let instances = self.list(resource_ref, Some(&selector)).await?.items;
        let mut machines: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for instance in &instances {
            let parsed = object::parse(
                (ClusterSide::Provider, ObjectKind::VirtualMachineInstance),
                instance,
            )?;
            if matches!(parsed.fact.body, ParsedBody::Instance(it) if it.evacuating) {
                let shoot = arc(&instance["metadata"]["labels"][names::PART_OF]);
                machines.entry(shoot).or_default().push(parsed.name);
            }
        }
        machines.values_mut().for_each(|it| it.sort());
        Ok(machines)
    }
}
