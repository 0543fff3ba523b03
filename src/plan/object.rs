//! What all objects have in common, and JSON that holds only what was given.

use super::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID, SPEC_HASH};
use super::{Hash, Site};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Stands where a record's UID will stand, before there is a record.
pub(crate) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

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

/// A value of the model without what was not given: nothing, and empty lists.
pub(crate) fn given(value: &impl Serialize) -> Value {
    let mut value =
        serde_json::to_value(value).expect("the model has text keys and finite numbers");
    prune(&mut value);
    value
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(prune);
            fields
                .retain(|_, it| !it.is_null() && it.as_array().is_none_or(|list| !list.is_empty()));
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

/// Puts a field into an object when there is something to put.
pub(crate) fn set(object: &mut Value, field: &str, value: Option<Value>) {
    if let Some(value) = value {
        object[field] = value;
    }
}
