//! Proof and observation to items. Asks no cluster, clock or chance.
//!
//! [`plan`] says what is to be done for a shoot, [`delete()`] what is to be done to be rid of one, and [`render`]
//! gives the object of an action. A plan is at once the preview, the progress, the answer to "what blocks", and
//! the work list; after a crash the next observation is the recovery.

mod classes;
mod component;
mod control_plane;
mod delete;
#[cfg(test)]
mod delete_tests;
pub(crate) mod desired;
mod guest;
pub(crate) mod hash;
pub(crate) mod health;
mod image;
pub(crate) mod images;
pub(crate) mod item;
pub(crate) mod kubelet;
mod machine;
#[cfg(test)]
mod model_check;
pub(crate) mod names;
mod network;
mod network_policies;
mod node;
mod object;
pub(crate) mod observed;
mod placement;
pub(crate) mod record;
pub(crate) mod relied;
pub(crate) mod render;
pub(crate) mod roll;
pub(crate) mod room;
mod shared;
pub(crate) mod spread;
pub(crate) mod store;
mod system;
#[cfg(test)]
pub(crate) mod testing;
mod token;
pub(crate) mod types;
mod user_data;
mod virtual_machine;
mod worker_config;

use crate::validate::ValidShoot;
pub(crate) use crate::validate::control_plane::{API_PORT, Address};
pub(crate) use delete::delete;
pub(crate) use hash::Hash;
pub(crate) use images::image as container_image;
use item::{Action, Class, Failure, Need, Plan, State, Wanted};
pub(crate) use object::NO_UID;
use observed::{Object, Observed};
use std::collections::HashMap;
use std::sync::Arc;
pub(crate) use system::{ADMINS, DRIVER};

/// Where the objects of a shoot stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    /// The technical ID.
    pub(crate) id: &'a str,
    pub(crate) namespace: &'a str,
    /// UID of the record.
    pub(crate) uid: &'a str,
}

/// Every item of the way, in order. All done means converged.
pub(crate) fn plan(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    let base = base(&mut plan, shoot, observed);
    let cluster = control_plane::add(&mut plan, shoot, observed, base.record);
    let isolated = network_policies::isolate(&mut plan, shoot, observed, &cluster);
    let mut join = system::add(&mut plan, shoot, observed, &cluster);
    join.extend(isolated);
    machines(&mut plan, shoot, observed, base, &join);
    node::add(&mut plan, observed);
    component::unwanted(&mut plan, observed);
    plan
}

/// What machines are made from.
struct Base {
    attachments: Vec<desired::Attachment>,
    record: Need,
    /// With the policies that hold for them.
    networks: Vec<Need>,
    relied: Vec<Need>,
    types: types::Own,
    /// By name.
    images: HashMap<Arc<str>, Need>,
    /// Of each zone of each pool, in order.
    golden: Vec<Vec<Option<Need>>>,
}

fn base(plan: &mut Plan, shoot: &ValidShoot, observed: &Observed) -> Base {
    let attachments = desired::attachments(shoot, &observed.facts);
    let record = record::add(plan, shoot, observed);
    let mut networks = network::add(plan, shoot, observed, &attachments, record);
    let policies = network_policies::add(plan, shoot, observed, record);
    networks.extend(policies);
    let import: Arc<[Need]> = [record].into_iter().chain(policies).collect();
    let relied = relied::add(plan, shoot, observed);
    let types = types::add(plan, shoot, observed, record);
    let mut images: HashMap<Arc<str>, Need> = HashMap::new();
    for one in desired::disks(shoot, &observed.facts) {
        let need = image::add(plan, observed, &one, &import);
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
                    .or_insert_with(|| image::add(plan, observed, &one, &import))
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
fn machines(plan: &mut Plan, shoot: &ValidShoot, observed: &Observed, base: Base, join: &[Need]) {
    let mut users = machine::Users::default();
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
        let wanted = machine::Wants::of(shoot, observed, pool, hash, &needs);
        machine::add(plan, observed, &wanted, &mut users);
    }
    // A pool that is no longer wanted is one of which none are wanted.
    let known: Vec<&str> = shoot.pools.iter().map(|it| it.name.as_str()).collect();
    for name in observed
        .facts
        .machines
        .keys()
        .filter(|it| !known.contains(&&***it))
    {
        machine::add(
            plan,
            observed,
            &machine::Wants::none(&shoot.id, name),
            &mut users,
        );
    }
    shared::unwanted(plan, shoot, observed, &base.images, &base.types, &users);
}

/// The plan of a shoot whose control plane is there: what the checkers search is the way of the machines.
#[cfg(test)]
pub(crate) fn plan_of_machines(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    let base = base(&mut plan, shoot, observed);
    let join = base.record;
    machines(&mut plan, shoot, observed, base, &[join]);
    plan
}

/// Due unless it is there with the wanted content; then `ready` says how far it is.
fn present(observed: &Observed, wanted: Wanted, ready: impl Fn(&Object) -> State) -> State {
    if observed.facts.foreign.contains_key(&wanted.key) {
        let message = format!(
            "{} already exists and belongs to another shoot with the same name",
            wanted.key
        );
        return State::Failed(Failure::new(Class::Foreign, message));
    }
    match observed.facts.objects.get(&wanted.key) {
        Some(it) if it.leaving => State::Waiting(format!("old {} is being deleted", wanted.key)),
        Some(it) if it.hash == wanted.hash => ready(it),
        _ => State::Due(Action::Apply(wanted)),
    }
}
