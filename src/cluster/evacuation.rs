//! Machines on hosts that are being emptied, of every shoot of the namespace at once.

use super::client::error::Error;
use super::client::request::Place;
use super::client::resources;
use crate::cluster::client::api_client::Provider;
use crate::cluster::json::arc;
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types::Body;
use crate::state::key::{Kind, Side};
use crate::state::names::{self, role};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Provider {
    /// Names of machines that somebody is to take off their hosts, by the technical ID of the shoot.
    pub(crate) async fn evacuating(&self) -> Result<BTreeMap<Arc<str>, Vec<Arc<str>>>, Error> {
        let selector = format!(
            "{}={},{}={}",
            names::MANAGED_BY,
            names::KVSHOOT,
            names::COMPONENT,
            role::MACHINE
        );
        let place = Place::all(&resources::VIRTUAL_MACHINE_INSTANCE, Some(self.namespace()));
        let instances = self.list(place, Some(&selector)).await?.items;
        let mut machines: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for instance in &instances {
            let seen = object::seen((Side::Provider, Kind::Instance), instance)?;
            if matches!(seen.fact.body, Body::Instance(it) if it.evacuating) {
                let shoot = arc(&instance["metadata"]["labels"][names::PART_OF]);
                machines.entry(shoot).or_default().push(seen.name);
            }
        }
        machines.values_mut().for_each(|it| it.sort());
        Ok(machines)
    }
}
