//! JSON without absent fields, and its text as YAML.

mod exact;
mod secret;
mod yaml;

pub(crate) use exact::{quiet_json, to_json, to_json_line};
pub(crate) use secret::SecretJson;
use serde::Serialize;
use serde_json::Value;
pub(crate) use yaml::{from_yaml, to_yaml};

/// Converts a value of the model to JSON without nulls and empty lists.
pub(crate) fn to_sparse_json(value: &impl Serialize) -> Value {
    let mut value =
        serde_json::to_value(value).expect("the model has text keys and finite numbers");
    prune(&mut value);
    value
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(prune);
            fields.retain(|_, field| {
                !field.is_null() && field.as_array().is_none_or(|list| !list.is_empty())
            });
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

/// Sets a field if there is a value.
pub(crate) fn set_if_some(object: &mut Value, field: &str, value: Option<Value>) {
    if let Some(value) = value {
        object[field] = value;
    }
}
