//! A backup as a row of a list, and as JSON.

use crate::app::inspect::shoot_summary::since;
use crate::backup::{BackupIndex, BackupPath, KeyProtection};
use crate::state::names::display_name;
use crate::ui::{ListRow, age, format_size};
use jiff::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// A backup that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BackupRow {
    /// Display name.
    shoot: String,
    namespace: String,
    technical_id: String,
    backup: String,
    /// RFC 3339.
    created: Option<String>,
    location: String,
    /// Complete, Incomplete or Damaged; after a verification also Verified.
    state: &'static str,
    /// Why it is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Size of all files.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Contents of `backup.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<BackupIndex>,
    #[serde(skip)]
    age: Option<Duration>,
}

impl BackupRow {
    pub(super) fn new(
        path: &BackupPath,
        location: String,
        state: &'static str,
        index: Option<BackupIndex>,
        now: Timestamp,
    ) -> BackupRow {
        let time = path.name.time();
        BackupRow {
            shoot: display_name(&path.id),
            namespace: path.namespace.clone(),
            technical_id: path.id.clone(),
            backup: path.name.to_string(),
            created: time.map(|it| it.to_string()),
            location,
            state,
            reason: None,
            bytes: index.as_ref().map(BackupIndex::bytes),
            index,
            age: time.map(|it| since(it.as_second(), now.as_second())),
        }
    }

    /// The same row with the reason of its state.
    pub(super) fn because(self, reason: String) -> BackupRow {
        BackupRow {
            reason: Some(reason),
            ..self
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.reason.is_some()
    }
}

impl ListRow for BackupRow {
    fn headers() -> &'static [&'static str] {
        &[
            "SHOOT",
            "NAMESPACE",
            "BACKUP",
            "AGE",
            "SIZE",
            "KEYS",
            "STATE",
        ]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["K8S-VERSION", "REVISION", "LOCATION"]
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.shoot.clone(),
            self.namespace.clone(),
            self.backup.clone(),
            self.age.map_or_else(|| "<unknown>".to_owned(), age),
            self.bytes.map_or_else(|| "-".to_owned(), format_size),
            self.index
                .as_ref()
                .map_or("-", |it| describe(it.keys))
                .to_owned(),
            match &self.reason {
                Some(reason) => format!("{}: {reason}", self.state),
                None => self.state.to_owned(),
            },
        ]
    }

    fn wide_cells(&self) -> Vec<String> {
        let index = self.index.as_ref();
        let or_dash = |it: Option<String>| it.unwrap_or_else(|| "-".to_owned());
        vec![
            or_dash(index.map(|it| it.kubernetes_version.clone())),
            or_dash(index.map(|it| it.etcd.revision.to_string())),
            self.location.clone(),
        ]
    }

    fn name(&self) -> String {
        self.backup.clone()
    }
}

fn describe(keys: KeyProtection) -> &'static str {
    match keys {
        KeyProtection::Encrypted => "encrypted",
        KeyProtection::Plain => "plain",
        KeyProtection::Omitted => "none",
    }
}
