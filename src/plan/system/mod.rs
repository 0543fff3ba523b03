//! Items of the system components in the shoot, in order.

mod addons;

use crate::plan::component;
use crate::plan::control_plane::{ControlPlaneItems, certificates};
use crate::plan::planner::Planner;
use crate::render::system::addons::snapshots;
use crate::render::system::context::SystemContext;
use crate::render::system::{components, machine_roots, metrics_server};
use crate::state::facts::ShootApi;
use crate::state::key::{ClusterSide, ObjectKey};
use crate::state::names::part;
use crate::state::plan::{Dependency, ItemKind, ItemState};
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
    let rotation = certificates::rotation(&observed.facts);
    let context = SystemContext {
        shoot,
        site: Site::of(shoot, &observed.facts),
        known: &cluster.known,
        classes: &observed.facts.storage_classes,
        expands_volumes: observed.facts.expands_volumes,
        token_generation: rotation.token_generation(),
        roots: rotation.machine_roots(),
    };
    let certificate = metrics_certificate(planner, &context.site, cluster);
    let mut own = HashSet::from([certificate.0]);
    let mut join = vec![cluster.inside, cluster.controllers];
    for component in components(&context) {
        let name = component.name;
        own.extend(component.keys(ClusterSide::Shoot));
        let needs = match name {
            // A machine that asks for a certificate before gets one of the old CA.
            machine_roots::NAME => vec![cluster.api_server, cluster.inside, cluster.controllers],
            metrics_server::NAME => vec![cluster.api_server, cluster.inside, certificate.1],
            _ => vec![cluster.api_server, cluster.inside],
        };
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

/// Item: the certificate with which metrics-server answers the API server. It is renewed like those of the control plane.
fn metrics_certificate(
    planner: &mut Planner,
    site: &Site,
    cluster: &ControlPlaneItems,
) -> (ObjectKey, Dependency) {
    let rotation = certificates::rotation(&planner.observed.facts);
    let trust = rotation.generation(part::CA);
    let wanted = metrics_server::certificate(site, trust);
    let key = wanted.key.clone();
    let observed = planner.observed;
    let state = match observed.facts.shoot_api {
        ShootApi::Reachable => certificates::state(observed, wanted),
        _ => ItemState::Blocked,
    };
    planner.plan.parts.insert(key.clone());
    let kind = ItemKind::Certificate(metrics_server::NAME.into());
    let title = format!("Issue certificate of {}", metrics_server::NAME);
    let needs = [cluster.api_server, cluster.inside];
    (key, planner.add(kind, title, needs, state))
}
