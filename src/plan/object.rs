//! Metadata that all objects have in common, and sparse JSON.

use super::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID, SPEC_HASH};
use super::{Hash, Site};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Placeholder for the record's UID, before the record exists.
pub(crate) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Labels of every object, by which alone it is found again.
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

/// Metadata of an object that is owned by the record and deleted with it.
pub(crate) fn metadata(site: &Site, role: &str, name: &str, hash: Hash) -> Value {
    json!({
        "name": name,
        "namespace": site.namespace,
        "labels": labels(site, role),
        "annotations": { SPEC_HASH: hash.to_string() },
        "ownerReferences": [owner(site)],
    })
}

/// The record as owner, so that deleting it in any way deletes everything else.
pub(crate) fn owner(site: &Site) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": site.id, "uid": site.uid })
}

/// Converts a value of the model to JSON without nulls and empty lists.
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

/// Sets a field if there is a value.
pub(crate) fn set(object: &mut Value, field: &str, value: Option<Value>) {
    if let Some(value) = value {
        object[field] = value;
    }
}
