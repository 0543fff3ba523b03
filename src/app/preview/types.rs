//! Changes that apply would make, as data.

use serde::Serialize;
use serde_json::Value;

/// An object that apply would create, change or delete.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Change {
    pub(crate) action: ChangeVerb,
    pub(crate) kind: String,
    /// None for a machine that is created later in a rolling update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    pub(crate) title: String,
    /// Reason why the change has to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waits: Option<String>,
    /// A summary of a new object, or why one is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) about: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<FieldChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChangeVerb {
    Create,
    Change,
    Delete,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct FieldChange {
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    pub(crate) shoot: String,
    pub(crate) namespace: String,
    pub(crate) technical_id: String,
    pub(crate) changes: Vec<Change>,
    /// Items in progress, which apply would wait for.
    pub(crate) waiting: Vec<String>,
    /// Errors that apply would fail with.
    pub(crate) failures: Vec<String>,
    /// Decisions that the manifest leaves open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}
