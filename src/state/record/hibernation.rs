//! Hibernation, as the record knows it.
//!
//! The manifest, a schedule and a person may ask for it. The one that asked last decides: the manifest when the value of
//! its field changes, so that applying the same manifest again wakes nothing.

use super::etcd::EtcdRecord;
use super::hibernation_schedule::latest_tick;
use super::rotation::RotationRecord;
use crate::model::Hibernation;
use serde::{Deserialize, Serialize};

/// Key of the ConfigMap.
pub(crate) const HIBERNATION: &str = "hibernation.json";

/// The hibernation of a shoot.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HibernationRecord {
    /// The shoot hibernates, or is about to.
    pub(crate) enabled: bool,
    /// Everything is stopped. False while the shoot is awake.
    pub(crate) complete: bool,
    /// It was decided to hibernate although webhooks may keep the shoot from waking.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) forced: bool,
    /// The value of the field in the manifest that was followed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) manifest: Option<bool>,
    /// When it was decided to hibernate or to wake, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<i64>,
    /// When the last hibernation began, in seconds since 1970. It stays while the shoot wakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) began: Option<i64>,
    /// The time up to which schedules were followed, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_trigger: Option<i64>,
}

/// A change of the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum HibernationChange {
    /// The value of the field in the manifest has changed, or a schedule says so.
    Follow(HibernationWish),
    /// Everything is stopped.
    Complete,
}

/// Decision of a manifest at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct HibernationWish {
    /// `spec.hibernation.enabled`.
    pub(crate) enabled: Option<bool>,
    /// The latest time of the schedules that was not followed yet, and whether the shoot hibernates since.
    pub(crate) tick: Option<(i64, bool)>,
    /// The manifest has schedules.
    pub(crate) has_schedules: bool,
}

/// The operation that keeps a shoot from being stopped, since its steps need a control plane: a phase of a rotation, or a
/// restore.
pub(crate) fn obstacle(rotation: &RotationRecord, etcd: Option<&EtcdRecord>) -> Option<String> {
    let mut rotations = rotation.rotations.iter();
    let rotation = rotations.find(|it| it.1.step.is_active());
    let rotation = rotation.map(|it| format!("the rotation of {}", it.0));
    let restore = etcd.and_then(|it| it.restore.as_ref());
    rotation.or_else(|| Some(format!("the restore of backup {}", restore?.backup)))
}

impl HibernationWish {
    /// The wish of a manifest that has not changed, and whose schedules are not followed.
    pub(crate) fn unchanged(record: &HibernationRecord) -> HibernationWish {
        HibernationWish {
            enabled: record.manifest,
            tick: None,
            has_schedules: false,
        }
    }

    /// The wish of a manifest at `now`, in seconds since 1970.
    pub(crate) fn of(
        hibernation: Option<&Hibernation>,
        record: &HibernationRecord,
        now: i64,
    ) -> HibernationWish {
        let schedules = hibernation.map_or(&[] as &[_], |it| &it.schedules);
        // Schedules count from the first run that has seen them.
        let after = record.last_trigger.unwrap_or(now);
        let tick = latest_tick(schedules, after, now);
        HibernationWish {
            enabled: hibernation.and_then(|it| it.enabled),
            tick: tick.map(|it| (it.time, it.hibernates)),
            has_schedules: !schedules.is_empty(),
        }
    }
}

impl HibernationRecord {
    /// Returns true if the shoot is to hibernate.
    pub(crate) fn is_wanted(&self, wish: &HibernationWish) -> bool {
        match (wish.enabled == self.manifest, wish.tick) {
            (false, _) => wish.enabled.unwrap_or_default(),
            (true, Some((_, hibernates))) => hibernates,
            (true, None) => self.enabled,
        }
    }

    /// Returns true if the record does not have the wish yet.
    pub(crate) fn is_due(&self, wish: &HibernationWish) -> bool {
        let starts = wish.has_schedules && self.last_trigger.is_none();
        starts || wish.enabled != self.manifest || wish.tick.is_some()
    }

    /// The record after a change at `time`, in seconds since 1970. A change that is out of date leaves it as it is.
    pub(crate) fn after(&self, change: &HibernationChange, time: i64) -> HibernationRecord {
        match change {
            HibernationChange::Follow(wish) => {
                let next = self.decided(self.is_wanted(wish), time);
                let starts = (wish.has_schedules && self.last_trigger.is_none()).then_some(time);
                HibernationRecord {
                    manifest: wish.enabled,
                    last_trigger: wish.tick.map(|it| it.0).or(starts).or(self.last_trigger),
                    ..next
                }
            }
            HibernationChange::Complete => HibernationRecord {
                complete: self.enabled,
                ..self.clone()
            },
        }
    }

    /// The record after a decision at `time`, in seconds since 1970. It holds until the next time of a schedule.
    pub(crate) fn decided(&self, enabled: bool, time: i64) -> HibernationRecord {
        let last_trigger = self.last_trigger.map(|it| it.max(time));
        if enabled == self.enabled {
            return HibernationRecord {
                last_trigger,
                ..self.clone()
            };
        }
        HibernationRecord {
            enabled,
            last_trigger,
            complete: false,
            forced: false,
            since: Some(time),
            began: enabled.then_some(time).or(self.began),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HibernationSchedule;

    fn wish(enabled: Option<bool>) -> HibernationWish {
        HibernationWish {
            enabled,
            tick: None,
            has_schedules: false,
        }
    }

    fn follow(enabled: Option<bool>) -> HibernationChange {
        HibernationChange::Follow(wish(enabled))
    }

    #[test]
    fn applying_the_same_manifest_again_wakes_nothing() {
        for manifest in [None, Some(false), Some(true)] {
            let first = HibernationRecord::default().after(&follow(manifest), 1);
            assert_eq!(first.enabled, manifest == Some(true), "{manifest:?}");
            assert!(!first.is_due(&wish(manifest)), "{manifest:?}");
            for decided in [true, false] {
                let person = first.decided(decided, 2);
                assert_eq!(person.is_wanted(&wish(manifest)), decided, "{manifest:?}");
            }
        }
    }

    #[test]
    fn a_changed_manifest_decides() {
        let asleep = HibernationRecord::default().decided(true, 1);
        assert!(!asleep.is_wanted(&wish(Some(false))));
        let woken = asleep.after(&follow(Some(false)), 5);
        assert!(!woken.enabled);
        assert_eq!((woken.since, woken.began), (Some(5), Some(1)));
        let of_manifest = HibernationRecord::default().after(&follow(Some(true)), 1);
        assert!(of_manifest.enabled);
        // A manifest without the field is one of a shoot that is awake.
        assert!(!of_manifest.is_wanted(&wish(None)));
    }

    #[test]
    fn a_decision_begins_again_what_was_complete() {
        let asleep = HibernationRecord::default().decided(true, 1);
        assert!(!asleep.complete);
        let complete = asleep.after(&HibernationChange::Complete, 2);
        assert!(complete.complete);
        assert_eq!(complete.decided(true, 3), complete);
        let waking = complete.decided(false, 4);
        assert!(!waking.complete);
        // A run that was slow does not complete a hibernation that has ended.
        assert!(!waking.after(&HibernationChange::Complete, 5).complete);
    }

    /// Asleep from noon on each day, awake from 18:00 on.
    fn at(record: &HibernationRecord, hours: i64) -> HibernationRecord {
        let schedule = HibernationSchedule {
            start: Some("0 12 * * *".to_owned()),
            end: Some("0 18 * * *".to_owned()),
            location: None,
        };
        let hibernation = Hibernation {
            enabled: None,
            schedules: vec![schedule],
        };
        let now = hours * 3600;
        let wish = HibernationWish::of(Some(&hibernation), record, now);
        match record.is_due(&wish) {
            true => record.after(&HibernationChange::Follow(wish), now),
            false => record.clone(),
        }
    }

    #[test]
    fn schedules_count_from_when_they_were_seen_and_each_time_once() {
        let new = at(&HibernationRecord::default(), 13);
        assert!(!new.enabled, "noon was before the schedule");
        assert_eq!(at(&new, 14), new);
        let asleep = at(&new, 37);
        assert!(asleep.enabled);
        assert_eq!(asleep.last_trigger, Some(36 * 3600));
        let person = asleep.decided(false, 38 * 3600);
        assert!(!at(&person, 39).enabled, "a person's decision holds");
        assert!(!at(&person, 43).enabled);
        assert!(at(&person, 61).enabled, "until the next time");
        // No run looked for two days: the latest time counts.
        assert!(!at(&asleep, 91).enabled);
    }

    #[test]
    fn the_record_is_read_as_it_is_written() {
        let record = HibernationRecord::default().decided(true, 1);
        let text = serde_json::to_string(&record).expect("numbers and flags");
        let read: HibernationRecord = serde_json::from_str(&text).expect("the same");
        assert_eq!(read, record);
        let read: HibernationRecord = serde_json::from_str("{}").expect("all are optional");
        assert_eq!(read, HibernationRecord::default());
    }
}
