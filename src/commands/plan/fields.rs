//! The fields of an object that a change is about, each by its path.

use super::Field;
use crate::commands::load;
use crate::render;
use crate::state::action::Action;
use crate::state::facts::Facts;
use crate::state::record;
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::BTreeMap;

/// What of the manifest differs from what was applied last.
pub(super) fn manifest_fields(shoot: &ValidShoot, before: &load::Before) -> Vec<Field> {
    let (old, new) = (
        flat(&record::manifest_of(&before.0)),
        flat(&record::manifest_of(&shoot.manifest)),
    );
    difference(&old, &new)
}

pub(super) fn metadata_fields(shoot: &ValidShoot, facts: &Facts, action: &Action) -> Vec<Field> {
    let patch = render::objects(shoot, facts, action)
        .into_iter()
        .next()
        .unwrap_or_default();
    let after = flat(&patch);
    let hidden = |it: &&(String, Value)| !it.0.contains("kvshoot.io/");
    let after: Vec<(String, Value)> = after.into_iter().collect();
    let field = |it: &(String, Value)| Field {
        path: it.0.clone(),
        before: None,
        after: Some(it.1.clone()).filter(|it| !it.is_null()),
    };
    after.iter().filter(hidden).map(field).collect()
}

/// Of a new object; what is secret is not among them.
pub(super) fn created_fields(shoot: &ValidShoot, facts: &Facts, action: &Action) -> Vec<Field> {
    let objects = render::objects(shoot, facts, action);
    objects.last().map(of_object).unwrap_or_default()
}

pub(super) fn of_object(object: &Value) -> Vec<Field> {
    if object["kind"] == "ConfigMap" || object["kind"] == "Secret" {
        return Vec::new();
    }
    let fields = flat(&object["spec"]).into_iter();
    fields
        .map(|(path, value)| Field {
            path: format!("spec.{path}"),
            before: None,
            after: Some(value),
        })
        .collect()
}

fn difference(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Vec<Field> {
    let paths: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = paths.into_iter().filter(|it| old.get(*it) != new.get(*it));
    changed
        .map(|it| Field {
            path: it.clone(),
            before: old.get(it).cloned(),
            after: new.get(it).cloned(),
        })
        .collect()
}

/// Every scalar by its path.
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
