//! Machines on hosts that are being emptied, of every shoot of the namespace at once.

use super::Provider;
use super::error::Error;
use super::kinds;
use super::project::{self, Body, arc};
use super::request::Place;
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
        let place = Place::all(&kinds::VIRTUAL_MACHINE_INSTANCE, Some(self.namespace()));
        let instances = self.list(place, Some(&selector)).await?.items;
        let mut machines: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for instance in &instances {
            let seen = project::seen((Side::Provider, Kind::Instance), instance)?;
            if matches!(seen.fact.body, Body::Instance(it) if it.evacuating) {
                let shoot = arc(&instance["metadata"]["labels"][names::PART_OF]);
                machines.entry(shoot).or_default().push(seen.name);
            }
        }
        machines.values_mut().for_each(|it| it.sort());
        Ok(machines)
    }
}
