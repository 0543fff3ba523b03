//! Which backups of one shoot are kept.

use super::path::BackupName;
use jiff::Timestamp;
use jiff::civil::{Date, ISOWeekDate};
use jiff::tz::TimeZone;
use std::collections::BTreeSet;

/// Result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integrity {
    Verified,
    Damaged,
    /// It was not read.
    Unknown,
}

/// A backup that may be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: BackupName,
    pub(crate) time: Timestamp,
    pub(crate) integrity: Integrity,
}

/// Numbers of backups to keep. A backup that one of them keeps is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RetentionPolicy {
    /// The newest backups.
    pub(crate) last: usize,
    /// The newest backup of each of the last hours that have one; likewise days and weeks, in UTC.
    pub(crate) hourly: usize,
    pub(crate) daily: usize,
    pub(crate) weekly: usize,
}

impl RetentionPolicy {
    /// The backups to delete, oldest first.
    ///
    /// Damaged ones do not take the place of others, and are deleted. The newest verified one is always kept; without a
    /// verified one, nothing is deleted.
    pub(crate) fn prune<'a>(&self, backups: &'a [Candidate]) -> Vec<&'a Candidate> {
        let mut newest_first: Vec<&Candidate> = backups.iter().collect();
        newest_first.sort_by(|a, b| (b.time, &b.name).cmp(&(a.time, &a.name)));
        let verified = newest_first
            .iter()
            .find(|it| it.integrity == Integrity::Verified);
        let Some(verified) = verified else {
            return Vec::new();
        };
        let intact = || {
            newest_first
                .iter()
                .filter(|it| it.integrity != Integrity::Damaged)
        };
        let mut kept: BTreeSet<&BackupName> = intact().take(self.last).map(|it| &it.name).collect();
        kept.insert(&verified.name);
        kept.extend(newest_of_each(intact(), self.hourly, hour));
        kept.extend(newest_of_each(intact(), self.daily, day));
        kept.extend(newest_of_each(intact(), self.weekly, week));
        let oldest_first = newest_first.iter().rev().copied();
        oldest_first.filter(|it| !kept.contains(&it.name)).collect()
    }
}

/// The newest backup of each of the newest `count` periods that have one.
fn newest_of_each<'a, P: PartialEq>(
    newest_first: impl Iterator<Item = &'a &'a Candidate>,
    count: usize,
    period: impl Fn(Timestamp) -> P,
) -> Vec<&'a BackupName> {
    let mut last = None;
    newest_first
        .filter(|it| last.replace(period(it.time)) != Some(period(it.time)))
        .take(count)
        .map(|it| &it.name)
        .collect()
}

fn hour(time: Timestamp) -> i64 {
    time.as_second().div_euclid(3600)
}

fn day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

fn week(time: Timestamp) -> (i16, i8) {
    let week: ISOWeekDate = day(time).iso_week_date();
    (week.year(), week.week())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate(time: &str) -> Candidate {
        let time: Timestamp = time.parse().unwrap();
        Candidate {
            name: BackupName::new(time, "aaaaa").unwrap(),
            time,
            integrity: Integrity::Verified,
        }
    }

    fn kept(policy: RetentionPolicy, backups: &[Candidate]) -> Vec<Candidate> {
        let pruned = policy.prune(backups);
        let is_kept = |it: &&Candidate| !pruned.contains(it);
        backups.iter().filter(is_kept).cloned().collect()
    }

    fn times(backups: &[Candidate]) -> Vec<String> {
        backups.iter().map(|it| it.time.to_string()).collect()
    }

    #[test]
    fn rings_keep_the_newest_backup_of_each_period() {
        let backups = [
            "2026-11-15T23:00:00Z",
            "2026-11-16T10:00:00Z",
            "2026-11-17T10:00:00Z",
            "2026-11-17T11:10:00Z",
            "2026-11-17T11:50:00Z",
            "2026-11-17T12:00:00Z",
        ]
        .map(candidate);
        let policy = RetentionPolicy {
            hourly: 2,
            daily: 2,
            weekly: 2,
            ..RetentionPolicy::default()
        };
        assert_eq!(
            times(&kept(policy, &backups)),
            [
                // A Sunday, the last day of its week.
                "2026-11-15T23:00:00Z",
                "2026-11-16T10:00:00Z",
                "2026-11-17T11:50:00Z",
                "2026-11-17T12:00:00Z",
            ]
        );
    }

    #[test]
    fn a_year_ends_within_a_week() {
        let backups = ["2026-12-31T10:00:00Z", "2027-01-01T10:00:00Z"].map(candidate);
        let policy = RetentionPolicy {
            weekly: 5,
            ..RetentionPolicy::default()
        };
        assert_eq!(times(&kept(policy, &backups)), ["2027-01-01T10:00:00Z"]);
    }

    #[test]
    fn nothing_is_deleted_without_a_verified_backup() {
        let mut backups = ["2026-11-15T23:00:00Z", "2026-11-16T10:00:00Z"].map(candidate);
        backups[0].integrity = Integrity::Unknown;
        backups[1].integrity = Integrity::Damaged;
        let policy = RetentionPolicy {
            last: 1,
            ..RetentionPolicy::default()
        };
        assert_eq!(kept(policy, &backups), backups);
        backups[0].integrity = Integrity::Verified;
        assert_eq!(kept(policy, &backups), backups[..1]);
    }

    fn integrity() -> impl Strategy<Value = Integrity> {
        prop_oneof![
            3 => Just(Integrity::Verified),
            1 => Just(Integrity::Damaged),
            2 => Just(Integrity::Unknown)
        ]
    }

    /// Times of about two months, dense enough that hours repeat.
    fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
        let one = (0_i64..1500, 0_i64..4, integrity());
        prop::collection::vec(one, 0..40).prop_map(|all| {
            let at = |(index, (hour, quarter, integrity)): (usize, _)| {
                let seconds = 1_800_000_000 + hour * 3600 + quarter * 900;
                let time = Timestamp::from_second(seconds).unwrap();
                let name = BackupName::new(time, &format!("{index:05}")).unwrap();
                Candidate {
                    name,
                    time,
                    integrity,
                }
            };
            all.into_iter().enumerate().map(at).collect()
        })
    }

    fn policies() -> impl Strategy<Value = RetentionPolicy> {
        (0_usize..5, 0_usize..5, 0_usize..5, 0_usize..5).prop_map(
            |(last, hourly, daily, weekly)| RetentionPolicy {
                last,
                hourly,
                daily,
                weekly,
            },
        )
    }

    proptest! {
        #[test]
        fn the_newest_verified_backup_is_never_pruned(all in candidates(), policy in policies()) {
            let newest = all
                .iter()
                .filter(|it| it.integrity == Integrity::Verified)
                .max_by_key(|it| (it.time, it.name.clone()));
            let pruned = policy.prune(&all);
            match newest {
                Some(newest) => prop_assert!(!pruned.contains(&newest)),
                None => prop_assert!(pruned.is_empty()),
            }
        }

        #[test]
        fn at_most_as_many_are_kept_as_the_policy_says(all in candidates(), policy in policies()) {
            prop_assume!(all.iter().any(|it| it.integrity == Integrity::Verified));
            let most = policy.last + policy.hourly + policy.daily + policy.weekly + 1;
            prop_assert!(kept(policy, &all).len() <= most);
        }

        #[test]
        fn the_newest_intact_backups_are_kept(all in candidates(), policy in policies()) {
            let mut intact: Vec<&Candidate> =
                all.iter().filter(|it| it.integrity != Integrity::Damaged).collect();
            intact.sort_by_key(|it| std::cmp::Reverse((it.time, it.name.clone())));
            let pruned = policy.prune(&all);
            prop_assert!(intact.iter().take(policy.last).all(|it| !pruned.contains(it)));
        }

        #[test]
        fn pruning_again_deletes_nothing(all in candidates(), policy in policies()) {
            let once = kept(policy, &all);
            prop_assert_eq!(kept(policy, &once), once);
        }

        #[test]
        fn a_larger_policy_keeps_all_that_a_smaller_one_keeps(
            all in candidates(),
            policy in policies(),
            more in policies(),
        ) {
            let larger = RetentionPolicy {
                last: policy.last + more.last,
                hourly: policy.hourly + more.hourly,
                daily: policy.daily + more.daily,
                weekly: policy.weekly + more.weekly,
            };
            let kept_by_larger = kept(larger, &all);
            prop_assert!(kept(policy, &all).iter().all(|it| kept_by_larger.contains(it)));
        }

        /// A schedule prunes after each backup, and must not end with less than one prune of all.
        #[test]
        fn pruning_after_each_backup_keeps_what_one_prune_keeps(
            mut all in candidates(),
            policy in policies(),
        ) {
            all.sort_by_key(|it| (it.time, it.name.clone()));
            for it in &mut all {
                it.integrity = Integrity::Verified;
            }
            let mut left = Vec::new();
            for backup in &all {
                left.push(backup.clone());
                left = kept(policy, &left);
            }
            prop_assert_eq!(left, kept(policy, &all));
        }
    }
}
