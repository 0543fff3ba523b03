//! Items for network policies.

use crate::plan::component;
use crate::plan::control_plane::ControlPlaneItems;
use crate::plan::planner::Planner;
use crate::render::network_policy::{general, isolation};
use crate::state::key::ClusterSide;
use crate::state::plan::Dependency;
use crate::state::site::Site;
use crate::validate::ValidShoot;

/// Adds policies that need no addresses: they exist before any import starts.
pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    record: Dependency,
) -> Option<Dependency> {
    let observed = planner.observed;
    let component = general(shoot)?;
    let site = Site::of(shoot, &observed.facts);
    Some(component::add(
        planner,
        component,
        ClusterSide::Provider,
        &site,
        [record],
    ))
}

/// Adds the policy of the machines: it exists before the first machine.
pub(crate) fn isolate(
    planner: &mut Planner,
    shoot: &ValidShoot,
    cluster: &ControlPlaneItems,
) -> Option<Dependency> {
    let observed = planner.observed;
    let component = isolation(shoot, &cluster.known)?;
    let site = Site::of(shoot, &observed.facts);
    Some(component::add(
        planner,
        component,
        ClusterSide::Provider,
        &site,
        cluster.addresses.as_slice(),
    ))
}
