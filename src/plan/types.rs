//! Instancetypes and preferences that a shoot manages for its own machines: Kubermatic's standard ones, and copies of
//! the provider's templates.
//!
//! A name in a pool refers to an object of the namespace, or else a template, or else a standard type, or else a
//! cluster-wide object. A change of which one it is triggers no rolling update: machines keep the type they have.

use super::item::{Content, Failure, Key, Kind, Need, Plan, State, Wanted};
use super::names::{self, role};
use super::object::{metadata, set};
use super::observed::{Facts, Observed};
use super::relied::{self, Family, Found, Relied};
use super::{Hash, Site, present};
use crate::model::Quantity;
use crate::validate::{Pool, ValidShoot};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Items of the shoot's own types.
pub(super) type Own = BTreeMap<Key, Need>;

/// Resolution of a type name in a pool.
#[derive(Debug, PartialEq)]
pub(super) enum Meant {
    /// An object that kvshoot does not manage; of this kind, if it is known.
    Theirs(Option<Arc<str>>),
    /// The shoot's own type, with this spec.
    Ours(Arc<Value>),
    /// The shoot's own type in its current form: its template no longer exists.
    Kept,
    Nothing,
}

/// The standard instancetypes: name, CPUs, memory.
const INSTANCETYPES: [(&str, u32, &str); 3] = [
    ("standard-2", 2, "8Gi"),
    ("standard-4", 4, "16Gi"),
    ("standard-8", 8, "32Gi"),
];
const PREFERENCE: &str = "sockets-advantage";
/// The name before KubeVirt 1.4; later versions accept it as `sockets`.
const SOCKETS: &str = "preferSockets";

pub(super) fn meant(shoot: &ValidShoot, facts: &Facts, relied: &Relied) -> Meant {
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
        // Not looked up, so it is used as given.
        None => Meant::Theirs(relied.kind.clone()),
    }
}

fn kind(family: Family) -> Option<Kind> {
    match family {
        Family::Instancetype => Some(Kind::Instancetype),
        Family::Preference => Some(Kind::Preference),
        Family::Claim | Family::Cloning | Family::Shared => None,
    }
}

fn key(shoot: &ValidShoot, kind: Kind, relied: &Relied) -> Key {
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

/// All types that pools name and the shoot manages itself.
fn own<'a>(
    shoot: &'a ValidShoot,
    facts: &'a Facts,
) -> impl Iterator<Item = (Key, Relied, Meant)> + 'a {
    let all = relied::of(shoot, &facts.namespace).into_iter();
    all.filter_map(|it| {
        let meant = meant(shoot, facts, &it);
        let is_own = matches!(meant, Meant::Ours(_) | Meant::Kept);
        let key = key(shoot, kind(it.family)?, &it);
        is_own.then_some((key, it, meant))
    })
}

/// A pool may name the kind and another one omit it; both refer to the same object.
pub(super) fn add(plan: &mut Plan, shoot: &ValidShoot, observed: &Observed, record: Need) -> Own {
    let mut all = Own::new();
    for (key, relied, meant) in own(shoot, &observed.facts) {
        if all.contains_key(&key) {
            continue;
        }
        let state = match (meant, observed.facts.unseen.get(&key.kind)) {
            (Meant::Ours(_), Some(why)) => {
                let message = format!("cannot manage {relied}: {}", why.message);
                State::Failed(Failure::new(why.class, message))
            }
            (Meant::Ours(spec), None) => present(observed, wanted(&key, &spec), |_| State::Done),
            _ => State::Done,
        };
        let id = format!("{}/{}", role(key.kind), key.name).into();
        let need = plan.add(observed, id, format!("Apply {relied}"), [record], state);
        all.insert(key, need);
    }
    all
}

/// Returns whether any of the shoot's own types is missing or outdated.
pub(crate) fn lack(shoot: &ValidShoot, facts: &Facts) -> bool {
    own(shoot, facts).any(|(key, _, meant)| match meant {
        Meant::Ours(spec) => {
            let there = facts.objects.get(&key);
            there.is_none_or(|it| it.leaving || it.hash != Hash::of(&*spec))
        }
        _ => false,
    })
}

fn wanted(key: &Key, spec: &Arc<Value>) -> Wanted {
    Wanted {
        key: key.clone(),
        hash: Hash::of(&**spec),
        content: Content::Plain,
    }
}

/// The object of a key that [`add`] returned.
pub(super) fn object(shoot: &ValidShoot, facts: &Facts, site: &Site, key: &Key) -> Option<Value> {
    let mut all = own(shoot, facts);
    let spec = all.find_map(|(it, _, meant)| match meant {
        Meant::Ours(spec) if it == *key => Some(spec),
        _ => None,
    })?;
    let role = role(key.kind);
    Some(json!({
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": key.kind.to_string(),
        "metadata": metadata(site, role, &key.name, Hash::of(&*spec)),
        "spec": &*spec,
    }))
}

fn role(kind: Kind) -> &'static str {
    match kind {
        Kind::Preference => role::PREFERENCE,
        _ => role::INSTANCETYPE,
    }
}

/// The matcher for the pool's type in the spec of a VM.
pub(super) fn matcher(
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &Pool,
    family: Family,
) -> Option<Value> {
    let relied = relied::named(pool, family)?;
    let kind = kind(family)?;
    Some(match meant(shoot, facts, &relied) {
        Meant::Ours(_) | Meant::Kept => {
            let key = key(shoot, kind, &relied);
            json!({ "name": &*key.name, "kind": kind.to_string() })
        }
        Meant::Theirs(kind) => {
            let mut matcher = json!({ "name": &*relied.name });
            set(&mut matcher, "kind", kind.map(|it| json!(&*it)));
            matcher
        }
        Meant::Nothing => json!({ "name": &*relied.name }),
    })
}

/// The memory of a machine of the pool, if the shoot's own type determines it.
pub(super) fn memory(shoot: &ValidShoot, facts: &Facts, pool: &Pool) -> Option<Quantity> {
    let relied = relied::named(pool, Family::Instancetype)?;
    let Meant::Ours(spec) = meant(shoot, facts, &relied) else {
        return None;
    };
    let memory = spec["memory"].as_object()?;
    // Hugepages are another resource, and with overcommitment not all memory is requested.
    let is_whole = memory.len() == 1;
    let guest = memory.get("guest").filter(|_| is_whole)?;
    Quantity::parse(guest.as_str()?).ok()
}

/// The types that a machine of the pool would be created with, in the form of its facts.
#[cfg(test)]
pub(super) fn of_machine(shoot: &ValidShoot, facts: &Facts, pool: &Pool) -> Arc<[Arc<str>]> {
    let families = [Family::Instancetype, Family::Preference].into_iter();
    let own = families.filter_map(|family| {
        let (matcher, kind) = (
            matcher(shoot, facts, pool, family)?,
            kind(family)?.to_string(),
        );
        let is_own = matcher["kind"] == kind.as_str();
        let name = matcher["name"].as_str()?;
        is_own.then(|| format!("{kind} {name}").into())
    });
    own.collect()
}

/// The types that should exist, with the hash of their specs.
#[cfg(test)]
pub(super) fn wanted_of(shoot: &ValidShoot, facts: &Facts) -> BTreeMap<Key, Hash> {
    let all = own(shoot, facts).filter_map(|(key, _, meant)| match meant {
        Meant::Ours(spec) => Some((key, Hash::of(&*spec))),
        _ => None,
    });
    all.collect()
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
