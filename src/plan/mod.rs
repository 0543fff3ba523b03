//! The planner: compares the desired shoot with the observation and lists items. A pure function, without I/O, clock or
//! randomness.
//!
//! [`plan`] lists what is to be done for a shoot, [`delete()`] what is to be done to delete one. A plan is at once the
//! preview, the progress, the answer to "what blocks", and the work list; after a crash the next observation is the
//! recovery.

#[cfg(test)]
mod check;
#[cfg(test)]
pub(crate) use check::finished;
pub(crate) mod autoscaling;
pub(crate) mod backup;
mod component;
mod control_plane;
mod delete;
mod deletion;
pub(crate) mod duties;
mod etcd;
pub(crate) mod hibernation;
mod image;
mod instancetypes;
mod machine_access;
pub(crate) mod maintenance;
mod network;
mod network_policy;
pub(crate) mod planner;
pub(crate) mod pool;
pub(crate) mod prerequisites;
pub(crate) mod preview;
mod prune;
mod record;
mod restore;
mod rotation;
mod system;
pub(crate) mod upgrade;

use crate::state::desired;
use crate::state::key::ClusterSide;
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, Item, ItemKind, ItemState, Plan};
use crate::validate::ValidShoot;
pub(crate) use control_plane::ETCD_MEMBERS;
pub(crate) use delete::delete;
pub(crate) use etcd::{DefragmentationScope, defragmentation};
use planner::Planner;
use pool::consumers::Consumers;
use pool::target::PoolTarget;
pub(crate) use restore::restore;
use std::collections::HashMap;
use std::sync::Arc;

/// Plans a shoot: all items, in order. All done means converged.
pub(crate) fn plan(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    if let Some(plan) = restore::refuse(shoot, observed) {
        return plan;
    }
    if hibernation::is_wanted(shoot, observed) {
        return hibernation::plan(shoot, observed);
    }
    let base = base(&mut planner, shoot);
    hibernation::follow(&mut planner, shoot, base.record);
    let cluster = control_plane::add(&mut planner, shoot, base.record);
    let isolated = network_policy::isolate(&mut planner, shoot, &cluster);
    let attachable = machine_access::add(&mut planner, shoot, &base.attachments, base.record);
    let mut join = system::add(&mut planner, shoot, &cluster);
    join.extend(isolated);
    join.push(attachable);
    let record = base.record;
    machines(&mut planner, shoot, base, &join);
    pool::node::add(&mut planner);
    pool::certificate::add(&mut planner);
    rotation::add(&mut planner, shoot, record);
    component::unwanted(&mut planner, record);
    restore::complete(&mut planner, shoot);
    block_without_nodes(&mut planner.plan, observed);
    if !observed.ahead {
        control_plane::block_without_etcd(&mut planner.plan);
    }
    planner.plan
}

/// Once all machines have failed, workloads of the shoot wait for nodes that do not come, and keep no run alive.
fn block_without_nodes(plan: &mut Plan, observed: &Observed) {
    let is_machine = |item: &&Item| matches!(item.kind, ItemKind::Machine(_));
    let mut machines = plan.items.iter().filter(is_machine).peekable();
    let has_node = observed.facts.nodes.values().any(|it| it.serves);
    let have_failed =
        machines.peek().is_some() && machines.all(|it| matches!(it.state, ItemState::Failed(_)));
    if has_node || !have_failed {
        return;
    }
    for item in &mut plan.items {
        let needs_nodes = match &item.kind {
            ItemKind::Component { side, .. } => *side == ClusterSide::Shoot,
            ItemKind::AddOn(_) => true,
            _ => false,
        };
        if needs_nodes && matches!(item.state, ItemState::Waiting(_)) {
            item.state = ItemState::Blocked;
        }
    }
}

/// Items that machines depend on.
struct Base {
    attachments: Vec<desired::NetworkAttachment>,
    record: Dependency,
    /// With the network policies that apply to machines.
    networks: Vec<Dependency>,
    prerequisites: Vec<Dependency>,
    types: instancetypes::OwnedTypes,
    /// Names of the profile's snapshot classes.
    images: HashMap<Arc<str>, Dependency>,
    /// For each zone of each pool, in order.
    image_volumes: Vec<Vec<Option<Dependency>>>,
}

fn base(planner: &mut Planner, shoot: &ValidShoot) -> Base {
    let observed = planner.observed;
    let attachments = desired::attachments(shoot, &observed.facts);
    let record = record::add(planner, shoot);
    let mut networks = network::add(planner, shoot, &attachments, record);
    let policies = network_policy::add(planner, shoot, record);
    networks.extend(policies);
    let import: Arc<[Dependency]> = [record].into_iter().chain(policies).collect();
    let prerequisites = prerequisites::add(planner, shoot);
    let types = instancetypes::add(planner, shoot, record);
    let mut images: HashMap<Arc<str>, Dependency> = HashMap::new();
    for one in desired::disks(shoot, &observed.facts) {
        let need = image::add(planner, &one, &import);
        images.insert(one.name.clone(), need);
    }
    let mut image_volumes = Vec::with_capacity(shoot.pools.len());
    for pool in &shoot.pools {
        let mut zones = Vec::with_capacity(pool.zones.len());
        for zone in 0..pool.zones.len() {
            let one = desired::image_volume(shoot, &observed.facts, pool, zone);
            zones.push(one.map(|one| {
                *images
                    .entry(one.name.clone())
                    .or_insert_with(|| image::add(planner, &one, &import))
            }));
        }
        image_volumes.push(zones);
    }
    Base {
        attachments,
        record,
        networks,
        prerequisites,
        types,
        images,
        image_volumes,
    }
}

/// Adds the items of all pools. `join` are the dependencies of a machine that joins as a node.
fn machines(planner: &mut Planner, shoot: &ValidShoot, base: Base, join: &[Dependency]) {
    let observed = planner.observed;
    let mut consumers = Consumers::default();
    let mut all_slots = Vec::new();
    let rotation = observed.facts.record.as_ref().map(|it| &it.rotation);
    for (pool, image_volumes) in shoot.pools.iter().zip(&base.image_volumes) {
        let all = [base.record]
            .into_iter()
            .chain(join.iter().copied())
            .chain(base.networks.iter().copied())
            .chain(base.prerequisites.iter().copied())
            .chain(base.types.values().copied());
        let needs: Vec<Arc<[Dependency]>> = image_volumes
            .iter()
            .map(|image| all.clone().chain(*image).collect())
            .collect();
        let hashes = desired::pool_hashes(shoot, pool, &base.attachments, rotation);
        let wanted = PoolTarget::of(shoot, observed, pool, hashes, &needs);
        let slots = pool::add(planner, &wanted, &mut consumers);
        all_slots.extend(slots.iter().copied());
    }
    // A pool that left the manifest is a pool of size 0. It may have been renamed, so its machines serve until those of
    // the other pools do, unless there is no room for both.
    let has_room = pool::capacity::shortages(shoot, &observed.facts).is_empty();
    let all_slots: Arc<[Dependency]> = match has_room {
        true => all_slots.into(),
        false => Arc::from([]),
    };
    let known: Vec<&str> = shoot.pools.iter().map(|it| it.name.as_str()).collect();
    for name in observed
        .facts
        .machines
        .keys()
        .filter(|it| !known.contains(&&***it))
    {
        let removed = PoolTarget::none(&shoot.id, name, all_slots.clone());
        pool::add(planner, &removed, &mut consumers);
    }
    prune::unwanted(planner, shoot, &base.images, &base.types, &consumers);
}

/// Plan of the machines alone, as if the control plane were ready, for the model checkers.
#[cfg(test)]
pub(crate) fn plan_of_machines(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    let base = base(&mut planner, shoot);
    let join = base.record;
    machines(&mut planner, shoot, base, &[join]);
    planner.plan
}
