//! The items of the components inside the shoot, in order.

use super::{Context, bundle, components, snapshots};
use crate::plan::control_plane::{ControlPlane, site};
use crate::plan::item::{Need, Plan, Side};
use crate::plan::observed::Observed;
use crate::validate::ValidShoot;
use std::collections::HashSet;

/// Components that must exist before a machine can become a node.
const FOR_JOINING: [&str; 2] = ["rbac", "bootstrap"];

/// Returns the dependencies of a joining machine.
pub(in crate::plan) fn add(
    plan: &mut Plan,
    shoot: &ValidShoot,
    observed: &Observed,
    cluster: &ControlPlane,
) -> Vec<Need> {
    let context = Context {
        shoot,
        site: site(shoot, &observed.facts),
        known: &cluster.known,
        classes: &observed.facts.classes,
    };
    let mut own = HashSet::new();
    let mut join = vec![cluster.inside, cluster.controllers];
    for component in components(&context) {
        let name = component.name;
        own.extend(component.keys(Side::Shoot, &context.site));
        let needs = [cluster.api_server, cluster.inside];
        let need = component.add(plan, observed, Side::Shoot, &context.site, needs);
        if FOR_JOINING.contains(&name) {
            join.push(need);
        }
    }
    let snapshots = snapshots::bundle(shoot);
    for bundle in snapshots.iter().chain(&shoot.bundles) {
        let needs = [cluster.api_server, cluster.inside];
        bundle::add(plan, observed, &context, bundle, &own, needs);
    }
    join
}
