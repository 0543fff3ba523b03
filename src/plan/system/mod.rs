//! The items of what runs inside the shoot, in order.

mod addons;

use crate::plan::component;
use crate::plan::control_plane::ControlPlane;
use crate::plan::planner::Planner;
use crate::render::system::addons::snapshots;
use crate::render::system::components;
use crate::render::system::context::Context;
use crate::state::key::Side;
use crate::state::plan::Need;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use std::collections::HashSet;

/// What has to be there before a machine can become a node.
const FOR_JOINING: [&str; 2] = ["rbac", "bootstrap"];

/// Gives what a machine needs in order to join.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot, cluster: &ControlPlane) -> Vec<Need> {
    let observed = planner.observed;
    let context = Context {
        shoot,
        site: Site::of(shoot, &observed.facts),
        known: &cluster.known,
        classes: &observed.facts.classes,
    };
    let mut own = HashSet::new();
    let mut join = vec![cluster.inside, cluster.controllers];
    for component in components(&context) {
        let name = component.name;
        own.extend(component.keys(Side::Shoot, &context.site));
        let needs = [cluster.api_server, cluster.inside];
        let need = component::add(planner, component, Side::Shoot, &context.site, needs);
        if FOR_JOINING.contains(&name) {
            join.push(need);
        }
    }
    let snapshots = snapshots::bundle(shoot);
    for bundle in snapshots.iter().chain(&shoot.bundles) {
        let needs = [cluster.api_server, cluster.inside];
        addons::add(planner, &context, bundle, &own, needs);
    }
    join
}
