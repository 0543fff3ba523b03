//! Items of a control plane, in order.

mod addresses;
pub(super) mod certificates;
mod etcd;
pub(crate) use etcd::ETCD_MEMBERS;
pub(crate) mod room;

use crate::plan::component;
use crate::plan::planner::Planner;
use crate::plan::prerequisites::add_priority_class;
use crate::render::component::Component;
use crate::render::control_plane::certificate::subjects::ApiServerAddresses;
use crate::render::control_plane::context::{ControlPlaneContext, ControlPlaneFacts};
use crate::render::control_plane::known::{is_external_for_machines, known};
use crate::render::control_plane::{
    api_server, cloud_controller, cluster_autoscaler, controller_manager, csi, scheduler, service,
};
use crate::state::facts::{Facts, ShootApi};
use crate::state::key::{ClusterSide, ObjectKey};
use crate::state::plan::{Dependency, Item, ItemKind, ItemState, Plan, REQUEST_SENT};
use crate::state::record::etcd::RestoreStage;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use crate::validate::control_plane::ApiServerExposure;
use std::time::Duration;

/// Time that the certificate of the API server waits for the address of a load balancer, from the beginning of a run.
/// Most are faster, and a later address costs an update of the API server; without a load balancer there never is one.
const ADDRESS_PATIENCE: Duration = Duration::from_secs(10);

/// Results that the rest of a plan uses.
pub(crate) struct ControlPlaneItems {
    pub(crate) known: ControlPlaneFacts,
    /// Every address that machines use is known.
    pub(crate) addresses: Vec<Dependency>,
    /// All of its replicas are up to date: no other component may be newer.
    pub(crate) api_server: Dependency,
    /// The shoot's API server is reachable.
    pub(crate) inside: Dependency,
    /// Certificates are signed, tokens work, nodes get pod ranges.
    pub(crate) controllers: Dependency,
}

fn control_plane_context<'a>(
    shoot: &'a ValidShoot,
    facts: &'a Facts,
    known: &'a ControlPlaneFacts,
) -> ControlPlaneContext<'a> {
    ControlPlaneContext {
        shoot,
        site: Site::of(shoot, facts),
        known,
        classes: &facts.storage_classes,
        rules: &facts.namespace_limits,
    }
}

pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    record: Dependency,
) -> ControlPlaneItems {
    let observed = planner.observed;
    let facts = &observed.facts;
    let known = known(shoot, facts);
    let context = control_plane_context(shoot, facts, &known);
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
    let exposure = service::exposure(shoot).map(|it| add(planner, it, &[record]));
    let is_optional = is_exposure_optional(shoot, &known);
    let mut addresses: Vec<Dependency> = [services]
        .into_iter()
        .chain(exposure.filter(|_| !is_optional))
        .collect();
    addresses.extend(self::addresses::conflicting(
        planner, shoot, &known, services,
    ));
    addresses.extend(self::addresses::lost(planner, shoot, services));
    let mut serving = addresses.clone();
    if observed.now < ADDRESS_PATIENCE {
        serving.extend(exposure);
        if exposure.is_some_and(|it| !planner.plan.is_done(it)) {
            planner.plan.wake_at(ADDRESS_PATIENCE);
        }
    }
    let needs = certificates::CertificateNeeds {
        record,
        addresses: &addresses,
        serving: &serving,
    };
    let certificates = certificates::add(planner, shoot, &context.site, Some(&reach), &needs);
    let mut needs = certificates.clone();
    // All other pods follow etcd.
    needs.extend(add_priority_class(planner, shoot));
    let stage = before.and_then(|it| it.etcd.as_ref()?.exclusive_restore());
    let stage = stage.map(|it| it.stage);
    if let Some(stage) = stage {
        needs.extend(stop(planner, context, stage));
    }
    let etcd = etcd::add(planner, context, &needs);
    if stage.is_some_and(|it| it < RestoreStage::Clean) {
        return ControlPlaneItems {
            known,
            addresses,
            api_server: record,
            inside: record,
            controllers: record,
        };
    }
    let needs = [certificates.as_slice(), &etcd.ready].concat();
    let api_server = api_server::component(context, etcd.endpoints);
    let api_server = add(planner, api_server, &needs);
    let inside = reached(planner, api_server);
    let controllers = match stage {
        Some(_) => api_server,
        None => {
            let needs = [certificates.as_slice(), &[api_server]].concat();
            let controllers = add(planner, controller_manager::component(context), &needs);
            add(planner, scheduler::component(context), &needs);
            add(planner, cloud_controller::component(context), &needs);
            add(planner, csi::component(context), &needs);
            if let Some(it) = cluster_autoscaler::component(context) {
                add(planner, it, &needs);
            }
            controllers
        }
    };
    ControlPlaneItems {
        known,
        addresses,
        api_server,
        inside,
        controllers,
    }
}

/// Once the data of etcd are lost, nothing else can be waited for.
pub(super) fn block_without_etcd(plan: &mut Plan) {
    let is_lost = |it: &Item| &*it.id.0 == ETCD_MEMBERS && matches!(it.state, ItemState::Failed(_));
    if !plan.items.iter().any(is_lost) {
        return;
    }
    let items = plan.items.iter_mut();
    for item in items {
        if matches!(item.state, ItemState::Waiting(_)) {
            item.state = ItemState::Blocked;
        }
    }
}

/// Stops what acts on the objects of the shoot while they are restored: the API server until they are there, and
/// controllers until what refers to lost machines is gone.
fn stop(
    planner: &mut Planner,
    context: &ControlPlaneContext,
    stage: RestoreStage,
) -> Vec<Dependency> {
    let api_server = api_server::component(context, 1);
    let api_server = Some(api_server).filter(|_| stage < RestoreStage::Clean);
    let controllers = [
        controller_manager::component(context),
        scheduler::component(context),
        cloud_controller::component(context),
        csi::component(context),
    ];
    let autoscaler = cluster_autoscaler::component(context);
    let all = controllers.into_iter().chain(autoscaler).chain(api_server);
    all.filter_map(|it| stop_workloads(planner, context, it, &[]))
        .collect()
}

/// Item: the workloads of a component have no pods, not even terminating ones. None if it has no workloads.
fn stop_workloads(
    planner: &mut Planner,
    context: &ControlPlaneContext,
    component: Component,
    needs: &[Dependency],
) -> Option<Dependency> {
    let workloads = component.stopped()?;
    let side = ClusterSide::Provider;
    let keys = workloads.keys(side);
    let item = component::add(planner, workloads, side, &context.site, needs);
    let facts = &planner.observed.facts;
    if let Some(why) = keys.iter().find_map(|it| remaining_pods(facts, it)) {
        planner.plan.delay(item, why);
    }
    Some(item)
}

/// Stops the control plane: what acts on objects first, then the API server, then etcd. Its volumes, keys and Services stay.
pub(crate) fn hibernate(
    planner: &mut Planner,
    shoot: &ValidShoot,
    needs: &[Dependency],
) -> Vec<Dependency> {
    let facts = &planner.observed.facts;
    let known = known(shoot, facts);
    let context = control_plane_context(shoot, facts, &known);
    let stop = |planner: &mut Planner, component: Component, needs: &[Dependency]| {
        stop_workloads(planner, &context, component, needs)
    };
    let controllers = [
        csi::component(&context),
        cloud_controller::component(&context),
        scheduler::component(&context),
        controller_manager::component(&context),
    ];
    let autoscaler = cluster_autoscaler::component(&context);
    let mut items = needs.to_vec();
    items.extend(
        autoscaler
            .into_iter()
            .chain(controllers)
            .filter_map(|it| stop(planner, it, needs)),
    );
    let endpoints = context.members();
    items.extend(stop(
        planner,
        api_server::component(&context, endpoints),
        &items,
    ));
    items.extend(stop(
        planner,
        etcd::settled_component(planner, &context),
        &items,
    ));
    items.split_off(needs.len())
}

/// Why the pods of a stopped workload may still act on the shoot; None once they are gone.
fn remaining_pods(facts: &Facts, workload: &ObjectKey) -> Option<String> {
    let record = facts.record.as_ref();
    if record.is_some_and(|it| it.hibernation.complete) {
        return None;
    }
    match facts.remaining_pods(workload) {
        None => Some("its pods have not been listed yet".to_owned()),
        Some(0) => None,
        Some(1) => Some("1 pod is terminating".to_owned()),
        Some(count) => Some(format!("{count} pods are terminating")),
    }
}

/// Returns true if only users reach the API server by a load balancer, which may never get an address.
fn is_exposure_optional(shoot: &ValidShoot, known: &ControlPlaneFacts) -> bool {
    let is_balanced = matches!(
        shoot.control_plane.exposure,
        ApiServerExposure::LoadBalancer { .. }
    );
    is_balanced && !is_external_for_machines(shoot, known)
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
