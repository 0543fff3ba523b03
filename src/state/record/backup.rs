//! The newest backup of a shoot, as an annotation of its record, and what a schedule demands. Pure: time is an argument.

use crate::model::Cron;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the annotation.
pub(crate) const LAST_BACKUP: &str = "kvshoot.io/last-backup";

/// Seconds that a backup may be late: it takes time, and is repeated when it fails.
const LATE: i64 = 10 * 60;

/// The newest backup. It was read back and had the right hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastBackup {
    pub(crate) name: String,
    /// RFC 3339.
    pub(crate) created: String,
    /// Path, or URL without credentials.
    pub(crate) location: String,
    /// Revision of etcd that it has at least.
    pub(crate) revision: u64,
}

impl LastBackup {
    /// None if there was none, or if the annotation is not valid.
    pub(crate) fn of(annotations: &BTreeMap<String, String>) -> Option<LastBackup> {
        LastBackup::parse(annotations.get(LAST_BACKUP)?)
    }

    /// None if the annotation is not valid.
    pub(crate) fn parse(annotation: &str) -> Option<LastBackup> {
        serde_json::from_str(annotation).ok()
    }

    /// When it was begun, in seconds since 1970.
    pub(crate) fn time(&self) -> Option<i64> {
        let created: Timestamp = self.created.parse().ok()?;
        Some(created.as_second())
    }
}

/// When the next backup is due after one that was begun at `last`, in seconds since 1970.
pub(crate) fn next_backup(schedule: &Cron, last: i64) -> Option<i64> {
    let next = schedule.next(Timestamp::from_second(last).ok()?)?;
    Some(next.as_second())
}

/// Returns true if the newest backup, begun at `last`, is older than the schedule says, in seconds since 1970.
pub(crate) fn is_overdue(schedule: &Cron, last: i64, now: i64) -> bool {
    next_backup(schedule, last).is_some_and(|next| next + LATE < now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> i64 {
        time.parse::<Timestamp>().expect("a time").as_second()
    }

    #[test]
    fn a_backup_is_due_at_the_first_time_after_the_last_one() {
        let hourly = Cron::parse("30 * * * *").expect("an expression");
        let last = at("2026-11-24T10:30:00Z");
        assert_eq!(next_backup(&hourly, last), Some(at("2026-11-24T11:30:00Z")));
        // Several times that were missed are one backup.
        let old = at("2026-11-20T10:31:00Z");
        assert_eq!(next_backup(&hourly, old), Some(at("2026-11-20T11:30:00Z")));
        assert_eq!(next_backup(&hourly, i64::MAX), None);
    }

    #[test]
    fn a_backup_is_overdue_some_minutes_after_its_time() {
        let daily = Cron::parse("0 3 * * *").expect("an expression");
        let last = at("2026-11-23T03:00:01Z");
        for (now, expected) in [
            ("2026-11-23T12:00:00Z", false),
            ("2026-11-24T03:10:00Z", false),
            ("2026-11-24T03:10:01Z", true),
        ] {
            assert_eq!(is_overdue(&daily, last, at(now)), expected, "{now}");
        }
    }

    #[test]
    fn the_annotation_has_the_time() {
        let last = LastBackup {
            name: "20261124T103000.000Z-aaaaa".to_owned(),
            created: "2026-11-24T10:30:00.5Z".to_owned(),
            location: "s3://etcd/lab".to_owned(),
            revision: 7,
        };
        let text = serde_json::to_string(&last).expect("texts and a number");
        let read = LastBackup::parse(&text).expect("the same");
        assert_eq!(read.time(), Some(at("2026-11-24T10:30:00Z")));
        assert_eq!(LastBackup::parse("{}"), None);
    }
}
