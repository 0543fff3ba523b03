//! What machines share, and what belongs to one: it goes after its last user.

use super::item::{Action, Key, Kind, Need, Plan, State, Target};
use super::machine::Users;
use super::observed::{Object, Observed};
use super::{desired, names};
use crate::validate::{Network, ValidShoot};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Items for what is there and no longer wanted.
pub(super) fn unwanted(
    plan: &mut Plan,
    shoot: &ValidShoot,
    observed: &Observed,
    images: &HashMap<Arc<str>, Need>,
    users: &Users,
) {
    let networks: HashSet<String> = shoot
        .networks
        .iter()
        .filter_map(|it| tenant(shoot, it))
        .collect();
    let wanted = |key: &Key| match key.kind {
        Kind::Network => networks.contains(&*key.name),
        Kind::Image => images.contains_key(&key.name),
        Kind::UserData => has_machine(shoot, observed, &key.name),
        Kind::Record | Kind::Machine => true,
    };
    let mut unwanted: Vec<(&Key, &Object)> = observed
        .facts
        .objects
        .iter()
        .filter(|it| !wanted(it.0))
        .collect();
    unwanted.sort_by_key(|it| it.0);
    for (key, object) in unwanted {
        let used_as = match key.kind {
            Kind::Network => format!("{}/{}", observed.facts.namespace, key.name).into(),
            _ => key.name.clone(),
        };
        let needs: Arc<[Need]> = users
            .get(&used_as)
            .map(|it| it.as_slice())
            .unwrap_or_default()
            .into();
        plan.add(
            observed,
            format!("remove/{}", object.uid).into(),
            title(key),
            needs,
            removal(key, object),
        );
    }
}

pub(super) fn removal(key: &Key, object: &Object) -> State {
    if object.leaving {
        return State::Waiting("it to be gone".into());
    }
    State::Due(Action::Delete(Target {
        key: key.clone(),
        uid: object.uid.clone(),
        version: object.version.clone(),
        unless_ready: false,
        setback: None,
    }))
}

pub(super) fn title(key: &Key) -> String {
    let what = match key.kind {
        Kind::Record => "record",
        Kind::Network => "network",
        Kind::Image => "image",
        Kind::UserData => "user data of machine",
        Kind::Machine => "machine",
    };
    format!("Remove {what} {}", key.name)
}

fn tenant(shoot: &ValidShoot, network: &Network) -> Option<String> {
    match network {
        Network::Tenant { name, .. } => Some(names::tenant_network(&shoot.id, name)),
        Network::Shared { .. } => None,
    }
}

/// User data comes before its machine, so a machine that is about to be made has some already.
fn has_machine(shoot: &ValidShoot, observed: &Observed, name: &Arc<str>) -> bool {
    let is_there = observed
        .facts
        .machines
        .values()
        .any(|it| it.contains_key(name));
    is_there
        || observed
            .sent
            .contains_key(&Key::provider(Kind::Machine, name.clone()))
        || is_to_come(shoot, observed, name)
}

/// A name of the wanted hash: the machine of a run that was cut off between the two, most likely.
fn is_to_come(shoot: &ValidShoot, observed: &Observed, name: &str) -> bool {
    let attachments = desired::attachments(shoot, &observed.facts);
    shoot.pools.iter().any(|pool| {
        let size = desired::size(&observed.facts, pool);
        let hash = desired::pool_hash(shoot, pool, &attachments);
        let targets = super::spread::spread(size, pool.zones.len());
        let ordinal = names::ordinal(name).unwrap_or(u32::MAX);
        targets.iter().enumerate().any(|(zone, target)| {
            (ordinal as usize) < *target
                && names::machine(&shoot.id, &pool.name, zone, hash, ordinal) == name
        })
    })
}
