//! The changed fields of an object, by path.

use super::types::FieldChange;
use crate::load::LastApplied;
use crate::render;
use crate::state::action::Desired;
use crate::state::facts::Facts;
use crate::state::record;
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::BTreeMap;

/// Fields of the manifest that differ from the last applied one.
pub(super) fn manifest_fields(shoot: &ValidShoot, last: &LastApplied) -> Vec<FieldChange> {
    let (old, new) = (
        flat(&record::manifest_of(&last.0)),
        flat(&record::manifest_of(&shoot.manifest)),
    );
    difference(&old, &new)
}

/// Labels, annotations and taints of the desired state.
pub(super) fn metadata_fields(
    shoot: &ValidShoot,
    facts: &Facts,
    desired: &Desired,
) -> Vec<FieldChange> {
    let patch = render::objects(shoot, facts, desired)
        .into_iter()
        .next()
        .unwrap_or_default();
    let after = flat(&patch);
    let hidden = |it: &&(String, Value)| !it.0.contains("kvshoot.io/");
    let after: Vec<(String, Value)> = after.into_iter().collect();
    let field = |entry: &(String, Value)| FieldChange {
        path: entry.0.clone(),
        before: None,
        after: Some(entry.1.clone()).filter(|it| !it.is_null()),
    };
    after.iter().filter(hidden).map(field).collect()
}

/// The fields of a new object, without secrets.
pub(super) fn created_fields(
    shoot: &ValidShoot,
    facts: &Facts,
    desired: &Desired,
) -> Vec<FieldChange> {
    let objects = render::objects(shoot, facts, desired);
    objects.last().map(of_object).unwrap_or_default()
}

pub(super) fn of_object(object: &Value) -> Vec<FieldChange> {
    if object["kind"] == "ConfigMap" || object["kind"] == "Secret" {
        return Vec::new();
    }
    let fields = flat(&object["spec"]).into_iter();
    fields
        .map(|(path, value)| FieldChange {
            path: format!("spec.{path}"),
            before: None,
            after: Some(value),
        })
        .collect()
}

fn difference(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Vec<FieldChange> {
    let paths: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = paths.into_iter().filter(|it| old.get(*it) != new.get(*it));
    changed
        .map(|path| FieldChange {
            path: path.clone(),
            before: old.get(path).cloned(),
            after: new.get(path).cloned(),
        })
        .collect()
}

/// All scalars by path.
fn flat(value: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    walk(value, String::new(), &mut all);
    all
}

fn walk(value: &Value, path: String, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let key = if key.contains(['.', '/']) {
                    format!("[{key}]")
                } else {
                    key.clone()
                };
                let dot = if path.is_empty() || key.starts_with('[') {
                    ""
                } else {
                    "."
                };
                walk(value, format!("{path}{dot}{key}"), all);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, it)| walk(it, format!("{path}[{index}]"), all));
        }
        scalar => {
            all.insert(path, scalar.clone());
        }
    }
}
