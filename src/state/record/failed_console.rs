//! The last lines on the consoles of machines that failed: the newest one of each pool and zone.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Begins the keys of the ConfigMap, which end with pool and zone.
const PREFIX: &str = "console.";

/// The console of a machine that was deleted because it failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedConsole {
    pub(crate) machine: String,
    pub(crate) lines: Vec<String>,
}

/// The key for a pool and the index of one of its zones.
pub(crate) fn key(pool: &str, zone: usize) -> String {
    format!("{PREFIX}{pool}.{zone}")
}

/// True for the key of a console.
pub(crate) fn is_key(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// The console in the data of a record.
pub(crate) fn read(
    data: &BTreeMap<String, String>,
    pool: &str,
    zone: usize,
) -> Option<FailedConsole> {
    serde_json::from_str(data.get(&key(pool, zone))?).ok()
}
