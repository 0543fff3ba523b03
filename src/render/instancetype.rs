//! Instancetypes and preferences, and how VMs name them.

use crate::render::metadata::metadata;
use crate::state::desired::instancetypes::{Meant, key, kind, meant, own, role};
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::json::set;
use crate::state::key::Key;
use crate::state::prerequisite::{self, Family};
use crate::state::site::Site;
use crate::validate::{Pool, ValidShoot};
use serde_json::{Value, json};

/// The object of a key that [`add`] gave.
pub(crate) fn object(shoot: &ValidShoot, facts: &Facts, site: &Site, key: &Key) -> Option<Value> {
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

/// How a VM of the pool names what the pool names.
pub(crate) fn matcher(
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &Pool,
    family: Family,
) -> Option<Value> {
    let relied = prerequisite::named(pool, family)?;
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

/// What a machine of the pool would be made by, as its facts have it.
#[cfg(test)]
pub(crate) fn of_machine(
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &Pool,
) -> std::sync::Arc<[std::sync::Arc<str>]> {
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
