//! The zones of a pool whose MachineDeployment names none, for Kubermatic's are those of the datacenter.

use crate::model::{CloudProfile, MachineDeployment, Worker};

/// Stands in the place of a zone that nobody knows.
const SOME_ZONE: &str = "zone";

/// A zone of the region for each machine, as far as there are any; those that the pool had keep their field_map.
pub(crate) fn zones(
    deployment: &MachineDeployment,
    region: &str,
    profile: Option<&CloudProfile>,
    had: Option<&Worker>,
) -> Vec<String> {
    let regions = profile.map_or(&[][..], |it| &it.spec.regions);
    let region = regions.iter().find(|it| it.name == region);
    let mut zones = had.map(|it| it.zones.clone()).unwrap_or_default();
    let machines = deployment.spec.replicas.unwrap_or(1);
    let most = usize::try_from(machines).unwrap_or(0).max(1);
    for zone in region.into_iter().flat_map(|it| &it.zones) {
        if zones.len() < most && !zones.contains(&zone.name) {
            zones.push(zone.name.clone());
        }
    }
    zones
}

/// For a pool of a region that nobody knows.
pub(crate) fn some_zone(deployment: &MachineDeployment) -> String {
    let spec = &deployment.spec.template.spec.provider_spec.value;
    let machine = spec.cloud_provider_spec.virtual_machine.as_ref();
    let location = machine.and_then(|it| it.location.as_ref());
    let zone = location.and_then(|it| it.zone.clone());
    let zone = zone.filter(|it| !it.is_empty());
    zone.unwrap_or_else(|| SOME_ZONE.to_owned())
}
