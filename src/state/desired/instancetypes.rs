//! Instancetypes and preferences that a shoot keeps for its own machines: Kubermatic's standard ones, and copies of the
//! provider's templates.
//!
//! What a pool names is somebody's object of the namespace, or else a template, or else a standard one, or else one of the
//! whole cluster. Which of them it is rolls nothing: machines stay what they were made as.

use crate::model::Quantity;
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::names::{self, role};
use crate::state::prerequisite::{self, Family, Found, Relied};
use crate::validate::{Pool, ValidShoot};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a name of a pool turned out to be.
#[derive(Debug, PartialEq)]
pub(crate) enum Meant {
    /// An object that others keep; of this kind, where that is known.
    Theirs(Option<Arc<str>>),
    /// The shoot's own, and what it says.
    Ours(Arc<Value>),
    /// The shoot's own as it stands: what it was made from is no more.
    Kept,
    Nothing,
}

/// The standard ones: name, CPUs, memory.
const INSTANCETYPES: [(&str, u32, &str); 3] = [
    ("standard-2", 2, "8Gi"),
    ("standard-4", 4, "16Gi"),
    ("standard-8", 8, "32Gi"),
];

pub(crate) const PREFERENCE: &str = "sockets-advantage";
/// The word of KubeVirt before 1.4, which all later versions take for `sockets`.
const SOCKETS: &str = "preferSockets";

pub(crate) fn meant(shoot: &ValidShoot, facts: &Facts, relied: &Relied) -> Meant {
    let Some(kind) = kind(relied.family) else {
        return Meant::Theirs(relied.kind.clone());
    };
    let found = facts.relied.get(relied);
    let own = kind.to_string();
    if relied.kind.as_deref().is_none_or(|it| it == own) {
        match found {
            Some(Found::There(kind)) if **kind == own => return Meant::Theirs(Some(kind.clone())),
            Some(Found::Template(spec)) => return Meant::Ours(spec.clone()),
            _ => {}
        }
        if let Some(spec) = standard(shoot, relied) {
            return Meant::Ours(spec.into());
        }
        let there = facts.objects.get(&key(shoot, kind, relied));
        if there.is_some_and(|it| !it.leaving) {
            return Meant::Kept;
        }
    }
    match found {
        Some(Found::There(kind)) => Meant::Theirs(Some(kind.clone())),
        Some(Found::Template(_) | Found::Nothing) => Meant::Nothing,
        // What nobody looked for is as it was given.
        None => Meant::Theirs(relied.kind.clone()),
    }
}

pub(crate) fn kind(family: Family) -> Option<Kind> {
    match family {
        Family::Instancetype => Some(Kind::Instancetype),
        Family::Preference => Some(Kind::Preference),
        Family::Claim | Family::Cloning | Family::Shared => None,
    }
}

pub(crate) fn key(shoot: &ValidShoot, kind: Kind, relied: &Relied) -> Key {
    Key::provider(kind, names::own_type(&shoot.id, &relied.name))
}

fn standard(shoot: &ValidShoot, relied: &Relied) -> Option<Value> {
    let config = &shoot.profile.spec.provider_config;
    let is_named = |name: &str| *relied.name == *name;
    match relied.family {
        Family::Instancetype if !config.disable_default_instance_types => {
            let (_, cpus, memory) = INSTANCETYPES.into_iter().find(|it| is_named(it.0))?;
            Some(json!({ "cpu": { "guest": cpus }, "memory": { "guest": memory } }))
        }
        Family::Preference if !config.disable_default_preferences => {
            is_named(PREFERENCE).then(|| json!({ "cpu": { "preferredCPUTopology": SOCKETS } }))
        }
        _ => None,
    }
}

/// All that the shoot's pools name and the shoot keeps itself.
pub(crate) fn own<'a>(
    shoot: &'a ValidShoot,
    facts: &'a Facts,
) -> impl Iterator<Item = (Key, Relied, Meant)> + 'a {
    let all = prerequisite::of(shoot, &facts.namespace).into_iter();
    all.filter_map(|it| {
        let meant = meant(shoot, facts, &it);
        let is_own = matches!(meant, Meant::Ours(_) | Meant::Kept);
        let key = key(shoot, kind(it.family)?, &it);
        is_own.then_some((key, it, meant))
    })
}

/// Whether the shoot's own types are not all there as they should be.
pub(crate) fn lack(shoot: &ValidShoot, facts: &Facts) -> bool {
    own(shoot, facts).any(|(key, _, meant)| match meant {
        Meant::Ours(spec) => {
            let there = facts.objects.get(&key);
            there.is_none_or(|it| it.leaving || it.hash != Hash::of(&*spec))
        }
        _ => false,
    })
}

pub(crate) fn role(kind: Kind) -> &'static str {
    match kind {
        Kind::Preference => role::PREFERENCE,
        _ => role::INSTANCETYPE,
    }
}

/// What a machine of the pool has of it, where a type of the shoot's own says so and leaves nothing open.
pub(crate) fn memory(shoot: &ValidShoot, facts: &Facts, pool: &Pool) -> Option<Quantity> {
    let relied = prerequisite::named(pool, Family::Instancetype)?;
    let Meant::Ours(spec) = meant(shoot, facts, &relied) else {
        return None;
    };
    let memory = spec["memory"].as_object()?;
    // Hugepages are another resource, and what is overcommitted is not all asked for.
    let is_whole = memory.len() == 1;
    let guest = memory.get("guest").filter(|_| is_whole)?;
    Quantity::parse(guest.as_str()?).ok()
}

/// Those that are to be there, with what decides what they say.
#[cfg(test)]
pub(crate) fn wanted_of(
    shoot: &ValidShoot,
    facts: &Facts,
) -> std::collections::BTreeMap<Key, Hash> {
    let all = own(shoot, facts).filter_map(|(key, _, meant)| match meant {
        Meant::Ours(spec) => Some((key, Hash::of(&*spec))),
        _ => None,
    });
    all.collect()
}
