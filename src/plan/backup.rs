//! When `kvshoot keep` makes the next backup of a shoot.

use crate::state::facts::Facts;
use crate::state::record::backup::next_backup;
use crate::validate::ValidShoot;

/// Demand of the schedule of a shoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackupTime {
    /// Nothing, until facts change: there is no schedule, or etcd cannot be backed up.
    None,
    /// A backup at that time, in seconds since 1970. A time that has passed is made up for at once.
    At(i64),
}

/// The next backup after one that was begun at `last`, in seconds since 1970. A shoot without a backup gets one at once.
///
/// Nothing is backed up before etcd is founded, during a hibernation, and while a backup is being restored: etcd does not
/// have the data of the shoot then.
pub(crate) fn backup_time(shoot: &ValidShoot, facts: &Facts, last: Option<i64>) -> BackupTime {
    let Some(backups) = &shoot.control_plane.backups else {
        return BackupTime::None;
    };
    let record = facts.record.as_ref().filter(|it| !it.leaving);
    let has_data = record.is_some_and(|it| {
        let etcd = it.etcd.as_ref();
        let is_restored = etcd.is_some_and(|it| it.exclusive_restore().is_none());
        is_restored && !it.hibernation.enabled
    });
    if !has_data {
        return BackupTime::None;
    }
    let known = record.and_then(|it| it.last_backup);
    match last.max(known) {
        None => BackupTime::At(facts.time),
        Some(last) => next_backup(&backups.schedule, last).map_or(BackupTime::None, BackupTime::At),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::finished;
    use crate::state::facts::ObservedRecord;
    use crate::state::record::etcd::{EtcdRestore, RestoreStage};
    use crate::state::record::hibernation::HibernationRecord;
    use crate::validate::testing::{SHOOT, valid_for_tests};
    use std::sync::Arc;

    const DAY: i64 = 24 * 3600;

    fn shoot(backup: &str) -> ValidShoot {
        let config = format!(
            "type: kubevirt\n    controlPlaneConfig: {{apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1, kind: ControlPlaneConfig{backup}}}"
        );
        valid_for_tests(&SHOOT.replace("type: kubevirt", &config))
    }

    fn daily() -> ValidShoot {
        shoot(", backup: {schedule: 0 3 * * *, destination: \"pvc:backups\", withPlainKeys: true}")
    }

    /// The time of a backup when another was begun on some day since 1970.
    fn time(
        shoot: &ValidShoot,
        last: Option<i64>,
        change: impl Fn(&mut ObservedRecord),
    ) -> BackupTime {
        let mut observed = finished(shoot);
        let facts = Arc::make_mut(&mut observed.facts);
        facts.time = 100;
        change(facts.record.as_mut().expect("it is complete"));
        backup_time(shoot, facts, last)
    }

    #[test]
    fn the_first_backup_is_made_at_once_and_others_at_their_times() {
        let none = |_: &mut ObservedRecord| {};
        assert_eq!(time(&shoot(""), None, none), BackupTime::None);
        assert_eq!(time(&daily(), None, none), BackupTime::At(100));
        let three = 3 * 3600;
        assert_eq!(
            time(&daily(), Some(three), none),
            BackupTime::At(DAY + three)
        );
    }

    #[test]
    fn the_newest_backup_counts_whoever_made_it() {
        let noted = |it: &mut ObservedRecord| it.last_backup = Some(5 * DAY);
        let three = 3 * 3600;
        for last in [None, Some(DAY), Some(5 * DAY)] {
            let expected = BackupTime::At(5 * DAY + three);
            assert_eq!(time(&daily(), last, noted), expected, "{last:?}");
        }
        // This one was made by this process, which has not seen its annotation yet.
        let own = time(&daily(), Some(7 * DAY), noted);
        assert_eq!(own, BackupTime::At(7 * DAY + three));
    }

    #[test]
    fn etcd_without_the_data_of_the_shoot_is_not_backed_up() {
        let hibernates = |it: &mut ObservedRecord| {
            it.hibernation = HibernationRecord::default().decided(true, 1);
        };
        assert_eq!(time(&daily(), None, hibernates), BackupTime::None);
        let leaves = |it: &mut ObservedRecord| it.leaving = true;
        assert_eq!(time(&daily(), None, leaves), BackupTime::None);
        let is_new = |it: &mut ObservedRecord| it.etcd = None;
        assert_eq!(time(&daily(), None, is_new), BackupTime::None);
        for (stage, expected) in [
            (RestoreStage::Receive, BackupTime::None),
            (RestoreStage::Clean, BackupTime::None),
            (RestoreStage::Reconcile, BackupTime::At(100)),
        ] {
            let restores = |it: &mut ObservedRecord| {
                let restore = EtcdRestore {
                    backup: "namespace/id/name".to_owned(),
                    snapshot: 9,
                    target: 5,
                    stage,
                };
                it.etcd.as_mut().expect("it is founded").restore = Some(restore);
            };
            assert_eq!(time(&daily(), None, restores), expected, "{stage:?}");
        }
    }
}
