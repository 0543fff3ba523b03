//! Adoption of existing objects: comparison with the desired object, and merging. Pure functions.
use crate::cluster::objects::metadata::PartialObjectMeta;
use crate::state::key::ObjectKind;
use crate::state::{names, record};
use serde_json::Value;

/// Result of comparing an existing object with the desired one of that name.
pub(crate) enum Adoption {
    /// The desired object, created before.
    Matches,
    /// An object of this shoot with other content, or terminating.
    Differs,
    Foreign,
}

/// Compares owners by label and content by hash.
pub(crate) fn classify(kind: ObjectKind, existing: &PartialObjectMeta, wanted: &Value) -> Adoption {
    let wanted = &wanted["metadata"];
    let is_same = |key: &str| existing.label(key) == wanted["labels"][key].as_str();
    // The record's UID is unknown before it is created.
    let is_ours = is_same(names::MANAGED_BY)
        && is_same(names::PART_OF)
        && is_same(names::COMPONENT)
        && (kind == ObjectKind::Record || is_same(names::SHOOT_UID));
    let annotation = |key: &str| wanted["annotations"][key].as_str();
    let is_same_in = |key: &str| existing.annotation(key) == annotation(key);
    // Keys are random: one that was generated for the same purpose is still another one.
    let is_issued = annotation(names::CHECKSUM).is_some();
    match is_ours {
        false => Adoption::Foreign,
        true if existing.is_deleting() => Adoption::Differs,
        // The token in the Secret is random; the hash in its name identifies the content.
        true if kind == ObjectKind::UserData => Adoption::Matches,
        true if is_issued && !is_same_in(names::CHECKSUM) => Adoption::Differs,
        true if is_same_in(names::SPEC_HASH) => Adoption::Matches,
        true => Adoption::Differs,
    }
}

/// Annotations of the record that commands set beside its content.
const OF_USERS: [&str; 3] = [names::PROTECTED, names::OPERATION, names::REPAIRS];

/// Replaces `existing` by `wanted`, keeping what others added to it.
pub(crate) fn merge_onto(existing: &Value, wanted: &Value) -> Value {
    let mut merged = wanted.clone();
    for map in ["labels", "annotations"] {
        let Some(others) = existing["metadata"][map].as_object() else {
            continue;
        };
        for (key, value) in others {
            let ours = key.starts_with("kvshoot.io/") && !OF_USERS.contains(&key.as_str())
                || merged["metadata"][map].get(key).is_some();
            if !ours {
                merged["metadata"][map][key] = value.clone();
            }
        }
    }
    // Data that runs write about themselves stay in the record.
    let own_keys = [
        record::CLUSTER_IP,
        record::ETCD,
        record::ROTATION,
        record::hibernation::HIBERNATION,
        record::LAST_OPERATION,
        record::HISTORY,
    ];
    let data = existing["data"].as_object().into_iter().flatten();
    let consoles = data
        .map(|it| it.0.as_str())
        .filter(|it| record::failed_console::is_key(it));
    for key in own_keys.into_iter().chain(consoles) {
        let own_data = &existing["data"][key];
        if existing["kind"] == "ConfigMap"
            && merged["data"].get(key).is_none()
            && !own_data.is_null()
        {
            merged["data"][key] = own_data.clone();
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

/// Restricts a patch to this object in this version.
pub(crate) fn with_preconditions(mut patch: Value, uid: &str, version: &str) -> Value {
    patch["metadata"]["uid"] = uid.into();
    patch["metadata"]["resourceVersion"] = version.into();
    patch
}
