//! Proof and observation to items. Asks no cluster, clock or chance.
//!
//! [`plan`] says what is to be done for a shoot, [`delete()`] what is to be done to be rid of one, and [`render`]
//! gives the object of an action. A plan is at once the preview, the progress, the answer to "what blocks", and
//! the work list; after a crash the next observation is the recovery.

#[cfg(test)]
mod check;
mod component;
mod control_plane;
mod delete;
pub(crate) mod desired;
pub(crate) mod hash;
mod image;
pub(crate) mod images;
pub(crate) mod item;
pub(crate) mod kubelet;
mod machine;
pub(crate) mod names;
mod network;
mod object;
pub(crate) mod observed;
pub(crate) mod record;
pub(crate) mod render;
pub(crate) mod roll;
mod shared;
pub(crate) mod spread;
pub(crate) mod store;
mod system;
mod user_data;
mod virtual_machine;
mod worker_config;

use crate::validate::ValidShoot;
pub(crate) use delete::delete;
pub(crate) use hash::Hash;
use item::{Action, Class, Failure, Need, Plan, State, Wanted};
pub(crate) use object::NO_UID;
use observed::{Object, Observed};
use std::collections::HashMap;
use std::sync::Arc;

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
    let attachments = desired::attachments(shoot, &observed.facts);
    let record = record::add(&mut plan, shoot, observed);
    let networks = network::add(&mut plan, shoot, observed, &attachments, record);
    let mut images: HashMap<Arc<str>, Need> = HashMap::new();
    let mut users = machine::Users::default();
    for pool in &shoot.pools {
        let zones = 0..pool.zones.len();
        let golden: Vec<_> = zones
            .map(|zone| desired::golden(shoot, &observed.facts, pool, zone))
            .collect();
        let mut needs: Vec<Arc<[Need]>> = Vec::with_capacity(golden.len());
        for golden in &golden {
            let image = golden.as_ref().map(|golden| {
                *images
                    .entry(golden.name.clone())
                    .or_insert_with(|| image::add(&mut plan, observed, golden, record))
            });
            needs.push(
                [record]
                    .into_iter()
                    .chain(networks.iter().copied())
                    .chain(image)
                    .collect(),
            );
        }
        let hash = desired::pool_hash(shoot, pool, &attachments);
        let wanted = machine::Wants::of(shoot, observed, pool, hash, &needs);
        machine::add(&mut plan, observed, &wanted, &mut users);
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
            &mut plan,
            observed,
            &machine::Wants::none(&shoot.id, name),
            &mut users,
        );
    }
    shared::unwanted(&mut plan, shoot, observed, &images, &users);
    plan
}

/// Due unless it is there with the wanted content; then `ready` says how far it is.
fn present(observed: &Observed, wanted: Wanted, ready: impl Fn(&Object) -> State) -> State {
    if observed.facts.foreign.contains_key(&wanted.key) {
        let message = format!("{} exists and is of another shoot of that name", wanted.key);
        return State::Failed(Failure::new(Class::Foreign, message));
    }
    match observed.facts.objects.get(&wanted.key) {
        Some(it) if it.leaving => State::Waiting("the old one to be gone".into()),
        Some(it) if it.hash == wanted.hash => ready(it),
        _ => State::Due(Action::Apply(wanted)),
    }
}
