//! Results and history of runs.

use serde::{Deserialize, Serialize};

/// Keys of the ConfigMap.
pub(crate) const LAST_OPERATION: &str = "last-operation.json";
pub(crate) const HISTORY: &str = "history.json";

/// Result of the last run that changed something, as Gardener's `lastOperation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operation {
    /// Create, Reconcile or Delete.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Processing, Succeeded, Error or Aborted.
    pub(crate) state: String,
    /// 0 to 100.
    pub(crate) progress: u8,
    pub(crate) description: String,
    /// RFC 3339.
    pub(crate) last_update_time: String,
    #[serde(default)]
    pub(crate) last_errors: Vec<LastError>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastError {
    pub(crate) description: String,
    #[serde(rename = "taskID")]
    pub(crate) task_id: String,
    pub(crate) codes: Vec<String>,
}

/// One run that changed something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunRecord {
    pub(crate) id: String,
    pub(crate) verb: String,
    pub(crate) started: String,
    pub(crate) seconds: u64,
    pub(crate) result: String,
}
