//! Reader of arbitrary JSON: objects that kvshoot or other projects rendered, and everything that is redacted.

use serde_json::Value;

/// Empty if it is missing or not a string.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
