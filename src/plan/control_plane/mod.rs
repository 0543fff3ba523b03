//! Items of a control plane, in order.

mod certificates;

use crate::plan::component;
use crate::plan::planner::Planner;
use crate::render::component::Component;
use crate::render::control_plane::certificate_subjects::ApiServerAddresses;
use crate::render::control_plane::context::{ControlPlaneContext, ControlPlaneFacts};
use crate::render::control_plane::known::known;
use crate::render::control_plane::{
    api_server, cloud_controller, controller_manager, csi, etcd, scheduler, service,
};
use crate::state::facts::ShootApi;
use crate::state::key::ClusterSide;
use crate::state::plan::{Dependency, ItemKind, ItemState, REQUEST_SENT};
use crate::state::site::Site;
use crate::validate::ValidShoot;

/// Results that the rest of a plan uses.
pub(crate) struct ControlPlaneItems {
    pub(crate) known: ControlPlaneFacts,
    /// Every address is known.
    pub(crate) services: Dependency,
    /// All of its replicas are up to date: no other component may be newer.
    pub(crate) api_server: Dependency,
    /// The shoot's API server is reachable.
    pub(crate) inside: Dependency,
    /// Certificates are signed, tokens work, nodes get pod ranges.
    pub(crate) controllers: Dependency,
}

pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    record: Dependency,
) -> ControlPlaneItems {
    let observed = planner.observed;
    let facts = &observed.facts;
    let known = known(shoot, facts);
    let context = ControlPlaneContext {
        shoot,
        site: Site::of(shoot, facts),
        known: &known,
        classes: &facts.storage_classes,
    };
    let context = &context;
    let add = |planner: &mut Planner, component: Component, needs: &[Dependency]| {
        component::add(
            planner,
            component,
            ClusterSide::Provider,
            &context.site,
            needs,
        )
    };
    let before = facts.record.as_ref();
    let cluster_ip = before.and_then(|it| it.cluster_ip.as_deref());
    let services = add(planner, service::services(shoot, cluster_ip), &[record]);
    let reach = ApiServerAddresses {
        cluster_ip: &known.cluster_ip,
        external: known.external.as_ref(),
        node_address: Some(&known.node_address),
    };
    let needs = (record, services);
    let certificates = certificates::add(planner, shoot, &context.site, Some(&reach), needs);
    let etcd = add(planner, etcd::component(context), &certificates);
    let needs = [certificates.as_slice(), &[etcd]].concat();
    let api_server = add(planner, api_server::component(context), &needs);
    let needs = [certificates.as_slice(), &[api_server]].concat();
    let controllers = add(planner, controller_manager::component(context), &needs);
    add(planner, scheduler::component(context), &needs);
    let inside = reached(planner, api_server);
    add(planner, cloud_controller::component(context), &needs);
    add(planner, csi::component(context), &needs);
    ControlPlaneItems {
        known,
        services,
        api_server,
        inside,
        controllers,
    }
}

/// Item: kvshoot can reach the shoot's API server.
fn reached(planner: &mut Planner, api_server: Dependency) -> Dependency {
    let observed = planner.observed;
    let state = match &observed.facts.shoot_api {
        ShootApi::Reachable => ItemState::Done,
        ShootApi::Unreachable(why) => ItemState::Waiting(why.to_string()),
        ShootApi::Absent if planner.plan.is_done(api_server) => {
            ItemState::Waiting(REQUEST_SENT.into())
        }
        ShootApi::Absent => ItemState::Blocked,
    };
    let title = "Connect to the shoot's API server".into();
    planner.add(ItemKind::Connection, title, [api_server], state)
}
