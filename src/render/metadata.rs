//! What all objects have in common, and JSON that holds only what was given.

use crate::state::hash::Hash;
use crate::state::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID, SPEC_HASH};
use crate::state::site::Site;
use serde_json::{Map, Value, json};

/// Labels that every object carries, and by which alone it is found again.
pub(crate) fn labels(site: &Site, role: &str) -> Map<String, Value> {
    let pairs = [
        (MANAGED_BY, KVSHOOT),
        (PART_OF, site.id),
        (COMPONENT, role),
        (SHOOT_UID, site.uid),
    ];
    pairs
        .map(|(key, value)| (key.to_owned(), value.into()))
        .into_iter()
        .collect()
}

/// Metadata of an object that belongs to the record and goes with it.
pub(crate) fn metadata(site: &Site, role: &str, name: &str, hash: Hash) -> Value {
    json!({
        "name": name,
        "namespace": site.namespace,
        "labels": labels(site, role),
        "annotations": { SPEC_HASH: hash.to_string() },
        "ownerReferences": [owner(site)],
    })
}

/// The record as owner: deleting it by any means takes everything along.
pub(crate) fn owner(site: &Site) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": site.id, "uid": site.uid })
}
