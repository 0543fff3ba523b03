//! JSON that holds only what was given.

use serde::Serialize;
use serde_json::Value;

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
