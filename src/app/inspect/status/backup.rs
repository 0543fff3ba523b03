//! The newest backup in `kvshoot status`, and whether it is as new as the schedule says.

use crate::app::inspect::shoot_summary::format_age;
use crate::cluster::RecordSnapshot;
use crate::load::last_applied;
use crate::model::Cron;
use crate::state::printable::one_line;
use crate::state::record::backup::{LastBackup, is_overdue};
use crate::state::record::hibernation::HibernationRecord;
use serde::Serialize;

/// Backups in a record.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BackupStatus {
    /// The newest verified one.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_backup: Option<LastBackup>,
    /// None if there is no schedule, or none that is followed while the shoot hibernates.
    #[serde(skip)]
    schedule: Option<Cron>,
}

impl BackupStatus {
    pub(super) fn of(record: &RecordSnapshot, hibernation: &HibernationRecord) -> BackupStatus {
        let shoot = last_applied(&record.data).map(|it| it.0);
        let config = shoot.and_then(|it| it.spec.provider.control_plane_config);
        let schedule: Option<String> = config.and_then(|it| it.backup).map(|it| it.schedule);
        let schedule = schedule.filter(|_| !hibernation.enabled);
        BackupStatus {
            last_backup: LastBackup::of(&record.annotations),
            schedule: schedule.and_then(|it| Cron::parse(&it).ok()),
        }
    }

    /// Age and location of the newest backup, or how to make one. A shoot that expires needs none.
    pub(super) fn text(&self, name: &str, expires: bool, now: Option<i64>) -> Option<String> {
        let Some(backup) = &self.last_backup else {
            let advice = match self.schedule {
                Some(_) => format!("none; to make those of its schedule: kvshoot keep {name}"),
                None => format!("none; to create one: kvshoot backup {name}"),
            };
            let is_needed = !expires || self.schedule.is_some();
            return is_needed.then(|| one_line(&advice));
        };
        let age = format_age(backup.time(), now);
        Some(format!("{age} ago, {}", one_line(&backup.location)))
    }

    /// The warning about a schedule that nothing follows.
    pub(super) fn warning(&self, name: &str, now: Option<i64>) -> Option<String> {
        let (schedule, now) = (self.schedule.as_ref()?, now?);
        let advice =
            format!("run kvshoot keep {name}, which makes backups, or look into its output");
        let Some(time) = self.last_backup.as_ref().and_then(LastBackup::time) else {
            return Some(format!(
                "shoot {name} has no verified backup, although backups are scheduled: {advice}"
            ));
        };
        is_overdue(schedule, time, now).then(|| {
            let age = format_age(Some(time), Some(now));
            format!("the newest backup of shoot {name} is {age} old, and the next one is overdue: {advice}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(created: Option<&str>, schedule: Option<&str>) -> BackupStatus {
        BackupStatus {
            last_backup: created.map(|created| LastBackup {
                name: "name".to_owned(),
                created: created.to_owned(),
                location: "s3://etcd/lab".to_owned(),
                revision: 7,
            }),
            schedule: schedule.map(|it| Cron::parse(it).expect("an expression")),
        }
    }

    const CREATED: &str = "1970-01-01T00:00:00Z";

    #[test]
    fn a_shoot_without_a_backup_is_told_how_to_get_one() {
        let none = status(None, None);
        let advice = "none; to create one: kvshoot backup dev";
        assert_eq!(none.text("dev", false, Some(60)).as_deref(), Some(advice));
        assert_eq!(none.text("dev", true, Some(60)), None);
        let scheduled = status(None, Some("0 3 * * *")).text("dev", true, Some(60));
        assert!(scheduled.is_some_and(|it| it.ends_with("kvshoot keep dev")));
        let made = status(Some(CREATED), None).text("dev", false, Some(60));
        assert_eq!(made.as_deref(), Some("60s ago, s3://etcd/lab"));
    }

    #[test]
    fn a_schedule_that_nothing_follows_is_warned_of() {
        let warning = |created, schedule, now| status(created, schedule).warning("dev", Some(now));
        assert_eq!(warning(None, None, 60), None);
        let none = warning(None, Some("0 3 * * *"), 60).expect("a warning");
        assert!(none.contains("has no verified backup"), "{none}");
        let hourly = Some("0 * * * *");
        assert_eq!(warning(Some(CREATED), hourly, 3600 + 600), None);
        let old = warning(Some(CREATED), hourly, 3600 + 601).expect("a warning");
        assert!(old.contains("is overdue"), "{old}");
        assert_eq!(warning(Some(CREATED), None, 1_000_000), None);
    }
}
