//! The zones of a pool: a MachineDeployment has none, since Kubermatic defines them by datacenter.

use crate::model::{
    CloudProfile, CloudProviderSpec, ConfigVar, ConfigVarValue, MachineDeployment, Worker,
};

/// Placeholder for an unknown zone.
const SOME_ZONE: &str = "zone";

/// The zone of its location; else at most one zone of the region for each machine, and one for machines that have to
/// share a host. Existing zones of the pool keep their positions.
pub(crate) fn zones(
    deployment: &MachineDeployment,
    region: &str,
    profile: Option<&CloudProfile>,
    had: Option<&Worker>,
) -> Vec<String> {
    let regions = profile.map_or(&[][..], |it| &it.spec.regions);
    let region = regions.iter().find(|it| it.name == region);
    let mut zones = had.map(|it| it.zones.clone()).unwrap_or_default();
    if let Some(zone) = location(deployment) {
        if region.is_some() && !zones.contains(&zone) {
            zones.push(zone);
        }
        return zones;
    }
    let machines = match is_on_one_host(deployment) {
        true => 1,
        false => deployment.spec.replicas.unwrap_or(1),
    };
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
    location(deployment).unwrap_or_else(|| SOME_ZONE.to_owned())
}

/// The zone that a MachineDeployment asks for.
fn location(deployment: &MachineDeployment) -> Option<String> {
    let machine = cloud(deployment).virtual_machine.as_ref()?;
    let zone = machine.location.as_ref()?.zone.clone();
    zone.filter(|it| !it.is_empty())
}

fn is_on_one_host(deployment: &MachineDeployment) -> bool {
    let affinity = cloud(deployment).affinity.as_ref();
    let preset = affinity.and_then(|it| it.pod_affinity_preset.as_ref());
    let preset = preset.map(ConfigVar::resolve);
    matches!(preset, Some(ConfigVarValue::Inline(text)) if text.eq_ignore_ascii_case("hard"))
}

fn cloud(deployment: &MachineDeployment) -> &CloudProviderSpec {
    let spec = &deployment.spec.template.spec.provider_spec.value;
    &spec.cloud_provider_spec
}
