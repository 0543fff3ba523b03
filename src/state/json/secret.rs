//! JSON with secret values.

use serde_json::Value;
use std::ops::{Deref, DerefMut};
use zeroize::{Zeroize as _, ZeroizeOnDrop};

/// JSON with secret values. Not printable, and its strings are overwritten when it is dropped.
pub(crate) struct SecretJson(Value);

impl From<Value> for SecretJson {
    fn from(value: Value) -> SecretJson {
        SecretJson(value)
    }
}

impl Deref for SecretJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl DerefMut for SecretJson {
    fn deref_mut(&mut self) -> &mut Value {
        &mut self.0
    }
}

impl Drop for SecretJson {
    fn drop(&mut self) {
        overwrite(&mut self.0);
    }
}

impl ZeroizeOnDrop for SecretJson {}

fn overwrite(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(overwrite),
        Value::Object(fields) => fields.values_mut().for_each(overwrite),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_overwritten_when_dropped<T: ZeroizeOnDrop>() {}

    #[test]
    fn strings_at_any_depth_are_overwritten() {
        is_overwritten_when_dropped::<SecretJson>();
        let mut value = json!({ "a": ["one", { "b": "two" }], "c": "three", "d": 4 });
        overwrite(&mut value);
        assert_eq!(value, json!({ "a": ["", { "b": "" }], "c": "", "d": 4 }));
    }
}
