//! Whether an object that is there is the wanted one, and how it becomes so. Pure.
use crate::cluster::json::is_leaving;
use crate::state::key::Kind;
use crate::state::{names, record};
use serde_json::Value;

/// What an object of the wanted name turned out to be.
pub(crate) enum Found {
    /// The wanted one, made before.
    Wanted,
    /// This shoot's, with other content or on its way out.
    Other,
    Foreign,
}

/// Whose it is, by its labels; and whether it holds what is wanted, by its hash.
pub(crate) fn found(kind: Kind, there: &Value, wanted: &Value) -> Found {
    let label = |object: &Value, key: &str| object["metadata"]["labels"][key].clone();
    let is_same = |key: &str| label(there, key) == label(wanted, key);
    // The record's UID is not known before it is made.
    let is_ours = is_same(names::MANAGED_BY)
        && is_same(names::PART_OF)
        && is_same(names::COMPONENT)
        && (kind == Kind::Record || is_same(names::SHOOT_UID));
    let annotation = |object: &Value, key: &str| object["metadata"]["annotations"][key].clone();
    let is_same_in = |key: &str| annotation(there, key) == annotation(wanted, key);
    // Keys are made by chance: one that was made for the same is another one all the same.
    let is_issued = annotation(wanted, names::CHECKSUM).is_string();
    match is_ours {
        false => Found::Foreign,
        true if is_leaving(there) => Found::Other,
        // A Secret differs in its token each time; the hash in its name is what counts.
        true if kind == Kind::UserData => Found::Wanted,
        true if is_issued && !is_same_in(names::CHECKSUM) => Found::Other,
        true if is_same_in(names::SPEC_HASH) => Found::Wanted,
        true => Found::Other,
    }
}

/// `wanted` in place of `there`, with what others put on it.
pub(crate) fn over(there: &Value, wanted: &Value) -> Value {
    let mut whole = wanted.clone();
    for map in ["labels", "annotations"] {
        let Some(others) = there["metadata"][map].as_object() else {
            continue;
        };
        for (key, value) in others {
            let ours = key.starts_with("kvshoot.io/") && key != names::PROTECTED
                || whole["metadata"][map].get(key).is_some();
            if !ours {
                whole["metadata"][map][key] = value.clone();
            }
        }
    }
    // What runs told of themselves stays with the record.
    for key in [record::CLUSTER_IP, record::LAST_OPERATION, record::HISTORY] {
        let told = &there["data"][key];
        if there["kind"] == "ConfigMap" && whole["data"].get(key).is_none() && !told.is_null() {
            whole["data"][key] = told.clone();
        }
    }
    for field in ["ownerReferences", "finalizers"] {
        let others = &there["metadata"][field];
        if whole["metadata"].get(field).is_none() && !others.is_null() {
            whole["metadata"][field] = others.clone();
        }
    }
    whole["metadata"]["uid"] = there["metadata"]["uid"].clone();
    whole["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
    whole
}

/// A patch that only fits this object in this version.
pub(crate) fn tied(mut patch: Value, uid: &str, version: &str) -> Value {
    patch["metadata"]["uid"] = uid.into();
    patch["metadata"]["resourceVersion"] = version.into();
    patch
}
