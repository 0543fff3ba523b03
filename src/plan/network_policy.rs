//! Items for network policies.

use crate::plan::component;
use crate::plan::control_plane::ControlPlane;
use crate::plan::planner::Planner;
use crate::render::network_policy::{general, isolation};
use crate::state::key::Side;
use crate::state::plan::Need;
use crate::state::site::Site;
use crate::validate::ValidShoot;

/// Those that need nothing to be known: they are there before anything is imported.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot, record: Need) -> Option<Need> {
    let observed = planner.observed;
    let component = general(shoot)?;
    let site = Site::of(shoot, &observed.facts);
    Some(component::add(
        planner,
        component,
        Side::Provider,
        &site,
        [record],
    ))
}

/// That of the machines: it is there before the first of them is.
pub(crate) fn isolate(
    planner: &mut Planner,
    shoot: &ValidShoot,
    cluster: &ControlPlane,
) -> Option<Need> {
    let observed = planner.observed;
    let component = isolation(shoot, &cluster.known)?;
    let site = Site::of(shoot, &observed.facts);
    Some(component::add(
        planner,
        component,
        Side::Provider,
        &site,
        [cluster.services],
    ))
}
