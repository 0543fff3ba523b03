//! Whether an object that is there is the wanted one, and how it becomes so. Pure.
use crate::cluster::json::is_deleting;
use crate::plan::item::Kind;
use crate::plan::{names, record};
use serde_json::Value;

/// What an object of the wanted name turned out to be.
pub(crate) enum Adoption {
    /// The wanted one, made before.
    Matches,
    /// This shoot's, with other content or on its way out.
    Differs,
    Foreign,
}

/// Whose it is, by its labels; and whether it holds what is wanted, by its hash.
pub(crate) fn classify(kind: Kind, existing: &Value, wanted: &Value) -> Adoption {
    let label = |object: &Value, key: &str| object["metadata"]["labels"][key].clone();
    let is_same = |key: &str| label(existing, key) == label(wanted, key);
    // The record's UID is not known before it is made.
    let is_ours = is_same(names::MANAGED_BY)
        && is_same(names::PART_OF)
        && is_same(names::COMPONENT)
        && (kind == Kind::Record || is_same(names::SHOOT_UID));
    let annotation = |object: &Value, key: &str| object["metadata"]["annotations"][key].clone();
    let is_same_in = |key: &str| annotation(existing, key) == annotation(wanted, key);
    // Keys are made by chance: one that was made for the same is another one all the same.
    let is_issued = annotation(wanted, names::CHECKSUM).is_string();
    match is_ours {
        false => Adoption::Foreign,
        true if is_deleting(existing) => Adoption::Differs,
        // A Secret differs in its token each time; the hash in its name is what counts.
        true if kind == Kind::UserData => Adoption::Matches,
        true if is_issued && !is_same_in(names::CHECKSUM) => Adoption::Differs,
        true if is_same_in(names::SPEC_HASH) => Adoption::Matches,
        true => Adoption::Differs,
    }
}

/// `wanted` in place of `there`, with what others put on it.
pub(crate) fn merge_onto(existing: &Value, wanted: &Value) -> Value {
    let mut merged = wanted.clone();
    for map in ["labels", "annotations"] {
        let Some(others) = existing["metadata"][map].as_object() else {
            continue;
        };
        for (key, value) in others {
            let ours = key.starts_with("kvshoot.io/") && key != names::PROTECTED
                || merged["metadata"][map].get(key).is_some();
            if !ours {
                merged["metadata"][map][key] = value.clone();
            }
        }
    }
    // What runs told of themselves stays with the record.
    for key in [record::CLUSTER_IP, record::LAST_OPERATION, record::HISTORY] {
        let told = &existing["data"][key];
        if existing["kind"] == "ConfigMap" && merged["data"].get(key).is_none() && !told.is_null() {
            merged["data"][key] = told.clone();
        }
    }
    for field in ["ownerReferences", "finalizers"] {
        let others = &existing["metadata"][field];
        if merged["metadata"].get(field).is_none() && !others.is_null() {
            merged["metadata"][field] = others.clone();
        }
    }
    merged["metadata"]["uid"] = existing["metadata"]["uid"].clone();
    merged["metadata"]["resourceVersion"] = existing["metadata"]["resourceVersion"].clone();
    merged
}

/// A patch that only fits this object in this version.
pub(crate) fn with_preconditions(mut patch: Value, uid: &str, version: &str) -> Value {
    patch["metadata"]["uid"] = uid.into();
    patch["metadata"]["resourceVersion"] = version.into();
    patch
}
