//! Instancetypes and preferences, and how VMs name them.

use crate::render::metadata::metadata;
use crate::state::desired::instancetypes::{ResolvedType, key, kind, owned_types, resolve, role};
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::json::set_if_some;
use crate::state::key::ObjectKey;
use crate::state::prerequisite::{self, PrerequisiteKind};
use crate::state::site::Site;
use crate::validate::{PoolSpec, ValidShoot};
use serde_json::{Value, json};

/// The object of one of the shoot's own types.
pub(crate) fn object(
    shoot: &ValidShoot,
    facts: &Facts,
    site: &Site,
    key: &ObjectKey,
) -> Option<Value> {
    let mut all = owned_types(shoot, facts);
    let spec = all.find_map(|(type_key, _, resolved)| match resolved {
        ResolvedType::Owned(spec) if type_key == *key => Some(spec),
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

/// Reference in a VM of the pool to its instancetype or preference.
pub(crate) fn matcher(
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &PoolSpec,
    family: PrerequisiteKind,
) -> Option<Value> {
    let prerequisite = prerequisite::named(pool, family)?;
    let kind = kind(family)?;
    Some(match resolve(shoot, facts, &prerequisite) {
        ResolvedType::Owned(_) | ResolvedType::Retained => {
            let key = key(shoot, kind, &prerequisite);
            json!({ "name": &*key.name, "kind": kind.to_string() })
        }
        ResolvedType::External(kind) => {
            let mut matcher = json!({ "name": &*prerequisite.name });
            set_if_some(&mut matcher, "kind", kind.map(|it| json!(&*it)));
            matcher
        }
        ResolvedType::NotFound => json!({ "name": &*prerequisite.name }),
    })
}

/// Types of a machine of the pool, as in its facts.
#[cfg(test)]
pub(crate) fn of_machine(
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &PoolSpec,
) -> std::sync::Arc<[std::sync::Arc<str>]> {
    let families = [PrerequisiteKind::Instancetype, PrerequisiteKind::Preference].into_iter();
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
