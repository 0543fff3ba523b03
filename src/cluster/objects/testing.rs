//! Objects for tests, which state only the metadata that they depend on.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Adds the metadata that each object has.
pub(crate) fn complete(mut object: Value) -> Value {
    for (field, value) in [("name", "a"), ("uid", "u"), ("resourceVersion", "7")] {
        let found = &mut object["metadata"][field];
        if found.is_null() {
            *found = json!(value);
        }
    }
    object
}

/// Reads an object.
pub(crate) fn object<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(complete(object)).expect("its fields have the right types")
}
