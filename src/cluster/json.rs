//! Readers of fields of API objects: a field that is missing reads as empty.

use serde_json::Value;
use std::sync::Arc;

pub(crate) fn is_leaving(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether a pod is ready, and stays.
pub(crate) fn serves(pod: &Value) -> bool {
    let conditions = items(&pod["status"]["conditions"]);
    !is_leaving(pod)
        && conditions
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// Of an RFC 3339 timestamp, since 1970.
pub(crate) fn seconds(timestamp: &Value) -> Option<i64> {
    let time: jiff::Timestamp = timestamp.as_str()?.parse().ok()?;
    Some(time.as_second())
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn arc(value: &Value) -> Arc<str> {
    text(value).into()
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
