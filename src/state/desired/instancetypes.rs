//! Instancetypes and preferences that a shoot manages for its own machines: Kubermatic's standard ones, and copies of
//! the provider's templates.
//!
//! A name in a pool resolves to an object of the namespace, else a template, else a standard type, else a cluster-scoped
//! object. A different resolution rolls nothing: existing machines keep their type.

use crate::model::Quantity;
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, role};
use crate::state::prerequisite::{self, Lookup, Prerequisite, PrerequisiteKind};
use crate::validate::{PoolSpec, ValidShoot};
use serde_json::{Value, json};
use std::sync::Arc;

/// Resolution of a pool's reference to an instancetype or preference.
#[derive(Debug, PartialEq)]
pub(crate) enum ResolvedType {
    /// An object owned by others, with its kind if known.
    External(Option<Arc<str>>),
    /// The shoot's own object, with its spec.
    Owned(Arc<Value>),
    /// The shoot's own object, unchanged: its template no longer exists.
    Retained,
    NotFound,
}

/// Standard instancetypes: name, CPUs, memory.
const INSTANCETYPES: [(&str, u32, &str); 3] = [
    ("standard-2", 2, "8Gi"),
    ("standard-4", 4, "16Gi"),
    ("standard-8", 8, "32Gi"),
];

pub(crate) const PREFERENCE: &str = "sockets-advantage";
/// Value of KubeVirt before 1.4, which later versions accept as `sockets`.
const SOCKETS: &str = "preferSockets";

pub(crate) fn resolve(
    shoot: &ValidShoot,
    facts: &Facts,
    prerequisite: &Prerequisite,
) -> ResolvedType {
    let Some(kind) = kind(prerequisite.prerequisite_kind) else {
        return ResolvedType::External(prerequisite.kind.clone());
    };
    let found = facts.prerequisites.get(prerequisite);
    let own = kind.to_string();
    if prerequisite.kind.as_deref().is_none_or(|it| it == own) {
        match found {
            Some(Lookup::Found(kind)) if **kind == own => {
                return ResolvedType::External(Some(kind.clone()));
            }
            Some(Lookup::Template(spec)) => return ResolvedType::Owned(spec.clone()),
            _ => {}
        }
        if let Some(spec) = standard(shoot, prerequisite) {
            return ResolvedType::Owned(spec.into());
        }
        let there = facts.objects.get(&key(shoot, kind, prerequisite));
        if there.is_some_and(|it| !it.leaving) {
            return ResolvedType::Retained;
        }
    }
    match found {
        Some(Lookup::Found(kind)) => ResolvedType::External(Some(kind.clone())),
        Some(Lookup::Template(_) | Lookup::NotFound) => ResolvedType::NotFound,
        // Without a lookup the reference is taken as given.
        None => ResolvedType::External(prerequisite.kind.clone()),
    }
}

pub(crate) fn kind(family: PrerequisiteKind) -> Option<ObjectKind> {
    match family {
        PrerequisiteKind::Instancetype => Some(ObjectKind::Instancetype),
        PrerequisiteKind::Preference => Some(ObjectKind::Preference),
        PrerequisiteKind::PersistentVolumeClaim
        | PrerequisiteKind::ClonePermission
        | PrerequisiteKind::SharedStorageClass
        | PrerequisiteKind::PriorityClass => None,
    }
}

pub(crate) fn key(shoot: &ValidShoot, kind: ObjectKind, prerequisite: &Prerequisite) -> ObjectKey {
    ObjectKey::provider(kind, names::own_type(&shoot.id, &prerequisite.name))
}

fn standard(shoot: &ValidShoot, prerequisite: &Prerequisite) -> Option<Value> {
    let config = &shoot.profile.spec.provider_config;
    let is_named = |name: &str| *prerequisite.name == *name;
    match prerequisite.prerequisite_kind {
        PrerequisiteKind::Instancetype if !config.disable_default_instance_types => {
            let (_, cpus, memory) = INSTANCETYPES.into_iter().find(|it| is_named(it.0))?;
            Some(json!({ "cpu": { "guest": cpus }, "memory": { "guest": memory } }))
        }
        PrerequisiteKind::Preference if !config.disable_default_preferences => {
            is_named(PREFERENCE).then(|| json!({ "cpu": { "preferredCPUTopology": SOCKETS } }))
        }
        _ => None,
    }
}

/// Types referenced by the shoot's pools and owned by the shoot.
pub(crate) fn owned_types<'a>(
    shoot: &'a ValidShoot,
    facts: &'a Facts,
) -> impl Iterator<Item = (ObjectKey, Prerequisite, ResolvedType)> + 'a {
    let all = prerequisite::of(shoot, &facts.namespace).into_iter();
    all.filter_map(|prerequisite| {
        let resolved = resolve(shoot, facts, &prerequisite);
        let is_own = matches!(resolved, ResolvedType::Owned(_) | ResolvedType::Retained);
        let key = key(shoot, kind(prerequisite.prerequisite_kind)?, &prerequisite);
        is_own.then_some((key, prerequisite, resolved))
    })
}

/// Returns true if one of the shoot's own types is missing or outdated.
pub(crate) fn is_missing(shoot: &ValidShoot, facts: &Facts) -> bool {
    owned_types(shoot, facts).any(|(key, _, resolved)| match resolved {
        ResolvedType::Owned(spec) => {
            let there = facts.objects.get(&key);
            there.is_none_or(|it| it.leaving || it.hash != Hash::of(&*spec))
        }
        _ => false,
    })
}

pub(crate) fn role(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Preference => role::PREFERENCE,
        _ => role::INSTANCETYPE,
    }
}

/// The memory of a machine of the pool, if the shoot's own type determines it.
pub(crate) fn memory(shoot: &ValidShoot, facts: &Facts, pool: &PoolSpec) -> Option<Quantity> {
    let prerequisite = prerequisite::named(pool, PrerequisiteKind::Instancetype)?;
    let ResolvedType::Owned(spec) = resolve(shoot, facts, &prerequisite) else {
        return None;
    };
    let memory = spec["memory"].as_object()?;
    // Hugepages are another resource, and with overcommitment not all memory is requested.
    let is_whole = memory.len() == 1;
    let guest = memory.get("guest").filter(|_| is_whole)?;
    Quantity::parse(guest.as_str()?).ok()
}

/// Desired types of the shoot, with the hash of their content.
#[cfg(test)]
pub(crate) fn wanted_of(
    shoot: &ValidShoot,
    facts: &Facts,
) -> std::collections::BTreeMap<ObjectKey, Hash> {
    let all = owned_types(shoot, facts).filter_map(|(key, _, resolved)| match resolved {
        ResolvedType::Owned(spec) => Some((key, Hash::of(&*spec))),
        _ => None,
    });
    all.collect()
}
