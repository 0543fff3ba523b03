//! The planner: what is wanted and what is observed to items. Asks no cluster, clock or chance.
//!
//! [`plan`] lists what is to be done for a shoot, [`delete()`] what is to be done to delete one. A plan is at once the
//! preview, the progress, the answer to "what blocks", and the work list; after a crash the next observation is the
//! recovery.

#[cfg(test)]
mod check;
mod component;
mod control_plane;
mod delete;
mod deletion;
mod image;
mod instancetypes;
mod network;
mod network_policy;
pub(crate) mod planner;
pub(crate) mod pool;
mod prerequisites;
pub(crate) mod preview;
mod prune;
mod record;
mod system;

use crate::state::desired;
use crate::state::observed::Observed;
use crate::state::plan::{Need, Plan};
use crate::validate::ValidShoot;
pub(crate) use delete::delete;
use planner::Planner;
use pool::consumers::Users;
use pool::target::Wants;
use std::collections::HashMap;
use std::sync::Arc;

/// Every item of the way, in order. All done means converged.
pub(crate) fn plan(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    let base = base(&mut planner, shoot);
    let cluster = control_plane::add(&mut planner, shoot, base.record);
    let isolated = network_policy::isolate(&mut planner, shoot, &cluster);
    let mut join = system::add(&mut planner, shoot, &cluster);
    join.extend(isolated);
    machines(&mut planner, shoot, base, &join);
    pool::node::add(&mut planner);
    component::unwanted(&mut planner);
    planner.plan
}

/// What machines are made from.
struct Base {
    attachments: Vec<desired::Attachment>,
    record: Need,
    /// With the policies that hold for them.
    networks: Vec<Need>,
    relied: Vec<Need>,
    types: instancetypes::Own,
    /// By name.
    images: HashMap<Arc<str>, Need>,
    /// Of each zone of each pool, in order.
    golden: Vec<Vec<Option<Need>>>,
}

fn base(planner: &mut Planner, shoot: &ValidShoot) -> Base {
    let observed = planner.observed;
    let attachments = desired::attachments(shoot, &observed.facts);
    let record = record::add(planner, shoot);
    let mut networks = network::add(planner, shoot, &attachments, record);
    let policies = network_policy::add(planner, shoot, record);
    networks.extend(policies);
    let import: Arc<[Need]> = [record].into_iter().chain(policies).collect();
    let relied = prerequisites::add(planner, shoot);
    let types = instancetypes::add(planner, shoot, record);
    let mut images: HashMap<Arc<str>, Need> = HashMap::new();
    for one in desired::disks(shoot, &observed.facts) {
        let need = image::add(planner, &one, &import);
        images.insert(one.name.clone(), need);
    }
    let mut golden = Vec::with_capacity(shoot.pools.len());
    for pool in &shoot.pools {
        let mut zones = Vec::with_capacity(pool.zones.len());
        for zone in 0..pool.zones.len() {
            let one = desired::golden(shoot, &observed.facts, pool, zone);
            zones.push(one.map(|one| {
                *images
                    .entry(one.name.clone())
                    .or_insert_with(|| image::add(planner, &one, &import))
            }));
        }
        golden.push(zones);
    }
    Base {
        attachments,
        record,
        networks,
        relied,
        types,
        images,
        golden,
    }
}

/// `join` is what has to be there so that a machine can become a node.
fn machines(planner: &mut Planner, shoot: &ValidShoot, base: Base, join: &[Need]) {
    let observed = planner.observed;
    let mut users = Users::default();
    for (pool, golden) in shoot.pools.iter().zip(&base.golden) {
        let all = [base.record].into_iter().chain(join.iter().copied());
        let all = all.chain(base.networks.iter().copied());
        let all = all.chain(base.relied.iter().copied());
        let all = all.chain(base.types.values().copied());
        let needs: Vec<Arc<[Need]>> = golden
            .iter()
            .map(|image| all.clone().chain(*image).collect())
            .collect();
        let hash = desired::pool_hash(shoot, pool, &base.attachments);
        let wanted = Wants::of(shoot, observed, pool, hash, &needs);
        pool::add(planner, &wanted, &mut users);
    }
    // A pool that is no longer wanted is one of which none are wanted.
    let known: Vec<&str> = shoot.pools.iter().map(|it| it.name.as_str()).collect();
    for name in observed
        .facts
        .machines
        .keys()
        .filter(|it| !known.contains(&&***it))
    {
        pool::add(planner, &Wants::none(&shoot.id, name), &mut users);
    }
    prune::unwanted(planner, shoot, &base.images, &base.types, &users);
}

/// The plan of a shoot whose control plane is there: what the checkers search is the way of the machines.
#[cfg(test)]
pub(crate) fn plan_of_machines(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    let base = base(&mut planner, shoot);
    let join = base.record;
    machines(&mut planner, shoot, base, &[join]);
    planner.plan
}
