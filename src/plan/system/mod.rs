//! Items of the system components in the shoot, in order.

mod addons;

use crate::plan::component;
use crate::plan::control_plane::ControlPlaneItems;
use crate::plan::planner::Planner;
use crate::render::system::addons::snapshots;
use crate::render::system::components;
use crate::render::system::context::SystemContext;
use crate::state::key::ClusterSide;
use crate::state::plan::Dependency;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use std::collections::HashSet;

/// Components that a machine needs to join as a node.
const FOR_JOINING: [&str; 2] = ["rbac", "bootstrap"];

/// Adds the items, and returns the dependencies of a machine that joins.
pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    cluster: &ControlPlaneItems,
) -> Vec<Dependency> {
    let observed = planner.observed;
    let context = SystemContext {
        shoot,
        site: Site::of(shoot, &observed.facts),
        known: &cluster.known,
        classes: &observed.facts.storage_classes,
        expands_volumes: observed.facts.expands_volumes,
    };
    let mut own = HashSet::new();
    let mut join = vec![cluster.inside, cluster.controllers];
    for component in components(&context) {
        let name = component.name;
        own.extend(component.keys(ClusterSide::Shoot));
        let needs = [cluster.api_server, cluster.inside];
        let need = component::add(planner, component, ClusterSide::Shoot, &context.site, needs);
        if FOR_JOINING.contains(&name) {
            join.push(need);
        }
    }
    let snapshots = snapshots::bundle(shoot);
    for bundle in snapshots.iter().chain(&shoot.manifest_sets) {
        let needs = [cluster.api_server, cluster.inside];
        addons::add(planner, &context, bundle, &own, needs);
    }
    join
}
