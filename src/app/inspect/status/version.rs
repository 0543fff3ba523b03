//! Maintenance and the version of Kubernetes in the status.

use crate::cluster::RecordSnapshot;
use crate::load::recorded_outline;
use crate::plan::maintenance::{expiry_warnings, outlook};
use crate::state::printable::one_line;
use jiff::Timestamp;
use serde::Serialize;

/// Updates of a shoot.
#[derive(Debug, Default, Serialize)]
pub(super) struct VersionStatus {
    /// The next maintenance window, and what is updated in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    maintenance: Option<String>,
    /// Warnings of versions that expire soon.
    #[serde(skip)]
    pub(super) warnings: Vec<String>,
}

impl VersionStatus {
    /// Time is in seconds since 1970; nothing is known without it.
    pub(super) fn of(record: &RecordSnapshot, now: Option<i64>) -> VersionStatus {
        let known = now.and_then(|now| {
            let time = Timestamp::from_second(now).ok()?;
            let shoot = recorded_outline(&record.name, &record.data, time)?;
            Some(VersionStatus {
                maintenance: outlook(&shoot, now),
                warnings: expiry_warnings(&shoot, now),
            })
        });
        known.unwrap_or_default()
    }

    /// A line, or nothing.
    pub(super) fn text(&self) -> String {
        let line = |it: &String| format!("  maintenance      {}\n", one_line(it));
        self.maintenance.as_ref().map(line).unwrap_or_default()
    }
}
