//! The items of a control plane, in order.

mod certificates;

use crate::plan::component;
use crate::plan::planner::Planner;
use crate::render::component::Component;
use crate::render::control_plane::certificate_subjects::Reach;
use crate::render::control_plane::context::{Context, Known};
use crate::render::control_plane::known::known;
use crate::render::control_plane::{
    api_server, cloud_controller, controller_manager, csi, etcd, scheduler, service,
};
use crate::state::facts::Inside;
use crate::state::key::Side;
use crate::state::plan::{Need, REQUEST_SENT, State};
use crate::state::site::Site;
use crate::validate::ValidShoot;

/// What the rest of a plan takes from the control plane.
pub(crate) struct ControlPlane {
    pub(crate) known: Known,
    /// Every address is known.
    pub(crate) services: Need,
    /// All of its replicas are as they are wanted: nothing may be newer than they are.
    pub(crate) api_server: Need,
    /// The shoot's API server is looked at.
    pub(crate) inside: Need,
    /// Certificates are signed, tokens work, nodes get their ranges.
    pub(crate) controllers: Need,
}

pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot, record: Need) -> ControlPlane {
    let observed = planner.observed;
    let facts = &observed.facts;
    let known = known(shoot, facts);
    let context = Context {
        shoot,
        site: Site::of(shoot, facts),
        known: &known,
        classes: &facts.classes,
    };
    let context = &context;
    let add = |planner: &mut Planner, component: Component, needs: &[Need]| {
        component::add(planner, component, Side::Provider, &context.site, needs)
    };
    let before = facts.record.as_ref();
    let cluster_ip = before.and_then(|it| it.cluster_ip.as_deref());
    let services = add(planner, service::services(shoot, cluster_ip), &[record]);
    let reach = Reach {
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
    ControlPlane {
        known,
        services,
        api_server,
        inside,
        controllers,
    }
}

/// Whether kvshoot itself can talk to the shoot.
fn reached(planner: &mut Planner, api_server: Need) -> Need {
    let observed = planner.observed;
    let state = match &observed.facts.inside {
        Inside::Observed => State::Done,
        Inside::Unreachable(why) => State::Waiting(why.to_string()),
        Inside::Absent if planner.plan.is_done(api_server) => State::Waiting(REQUEST_SENT.into()),
        Inside::Absent => State::Blocked,
    };
    let title = "Reach the shoot's API server".into();
    let id = "reach".to_owned();
    planner.add(id.into(), title, [api_server], state)
}
