//! The zones of a pool: a MachineDeployment has none, since Kubermatic defines them by datacenter.

use crate::model::{CloudProfile, MachineDeployment, Worker};

/// Placeholder for an unknown zone.
const SOME_ZONE: &str = "zone";

/// At most one zone of the region for each machine; existing zones of the pool keep their positions.
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

/// Zone of a pool in an unknown region.
pub(crate) fn some_zone(deployment: &MachineDeployment) -> String {
    let spec = &deployment.spec.template.spec.provider_spec.value;
    let machine = spec.cloud_provider_spec.virtual_machine.as_ref();
    let location = machine.and_then(|it| it.location.as_ref());
    let zone = location
        .and_then(|it| it.zone.clone())
        .filter(|it| !it.is_empty());
    zone.unwrap_or_else(|| SOME_ZONE.to_owned())
}
