//! Schedules of hibernation. Pure: time is an argument.

use crate::model::{Cron, HibernationSchedule};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::time::Duration;

/// Days that a missed time is made up for, as Gardener does.
const DAYS: i32 = 7;

/// A time of a schedule that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick {
    /// Seconds since 1970.
    pub(crate) time: i64,
    /// The shoot is to hibernate from then on; otherwise to be awake.
    pub(crate) hibernates: bool,
}

/// The latest time of all schedules after `after` and not after `now`, in seconds since 1970. Earlier ones that were missed
/// no longer matter. Of two at the same time, the one that is listed first counts. Schedules that are not valid have none.
pub(crate) fn latest_tick(schedules: &[HibernationSchedule], after: i64, now: i64) -> Option<Tick> {
    let [after, now] = [after, now].map(|it| Timestamp::from_second(it).ok());
    let (after, now) = (after?, now?);
    let ticks = schedules.iter().flat_map(|schedule| {
        let zone = schedule.location.as_deref().unwrap_or("UTC");
        let zone = TimeZone::get(zone).ok();
        let crons = [(&schedule.start, true), (&schedule.end, false)];
        crons.into_iter().filter_map(move |(cron, hibernates)| {
            let cron = Cron::parse(cron.as_deref()?).ok()?;
            let time = cron.latest(zone.as_ref()?, after, now, DAYS)?;
            Some(Tick {
                time: time.as_second(),
                hibernates,
            })
        })
    });
    // The last of equal elements is the maximum.
    let ticks: Vec<Tick> = ticks.collect();
    ticks.into_iter().rev().max_by_key(|it| it.time)
}

/// Time until the next time of a schedule after `now`, in seconds since 1970, if that is within `limit`.
pub(crate) fn until_next_tick(
    schedules: &[HibernationSchedule],
    now: i64,
    limit: Duration,
) -> Option<Duration> {
    let minutes = i64::try_from(limit.as_secs() / 60).ok()?;
    let this_minute = now - now.rem_euclid(60);
    let mut minutes = (1..=minutes).map(|it| this_minute + 60 * it);
    let next = minutes.find(|it| latest_tick(schedules, now, *it).is_some())?;
    Some(Duration::from_secs(u64::try_from(next - now).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(start: &str, end: &str, location: &str) -> HibernationSchedule {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        HibernationSchedule {
            start: given(start),
            end: given(end),
            location: given(location),
        }
    }

    fn at(time: &str) -> i64 {
        time.parse::<Timestamp>().expect("a time").as_second()
    }

    fn tick(schedules: &[HibernationSchedule], after: &str, now: &str) -> Option<(String, bool)> {
        let tick = latest_tick(schedules, at(after), at(now))?;
        let time = Timestamp::from_second(tick.time).expect("a time");
        Some((time.to_string(), tick.hibernates))
    }

    #[test]
    fn the_latest_time_decides() {
        let nights = [schedule("0 20 * * 1-5", "0 7 * * 1-5", "Europe/Berlin")];
        let found = |after, now| tick(&nights, after, now);
        // Monday evening in winter.
        let evening = Some(("2026-11-23T19:00:00Z".to_owned(), true));
        assert_eq!(
            found("2026-11-23T12:00:00Z", "2026-11-23T19:00:00Z"),
            evening
        );
        assert_eq!(
            found("2026-11-23T12:00:00Z", "2026-11-24T05:59:59Z"),
            evening
        );
        let morning = Some(("2026-11-24T06:00:00Z".to_owned(), false));
        assert_eq!(
            found("2026-11-23T12:00:00Z", "2026-11-24T06:00:00Z"),
            morning
        );
        // Followed already, or decided by a person since.
        assert_eq!(found("2026-11-23T19:00:00Z", "2026-11-24T05:00:00Z"), None);
        assert_eq!(found("2026-11-23T21:00:00Z", "2026-11-24T05:00:00Z"), None);
        // It sleeps over the weekend.
        let friday = Some(("2026-11-27T19:00:00Z".to_owned(), true));
        assert_eq!(
            found("2026-11-27T12:00:00Z", "2026-11-29T12:00:00Z"),
            friday
        );
    }

    #[test]
    fn the_next_time_is_known_some_minutes_before() {
        let nights = [schedule("0 20 * * 1-5", "0 7 * * 1-5", "Europe/Berlin")];
        let limit = Duration::from_secs(600);
        for (now, expected) in [
            ("2026-11-23T18:49:59Z", None),
            ("2026-11-23T18:50:00Z", Some(600)),
            ("2026-11-23T18:58:59Z", Some(61)),
            ("2026-11-23T18:59:59Z", Some(1)),
            ("2026-11-23T19:00:00Z", None),
            ("2026-11-24T05:55:30Z", Some(270)),
            // Saturday.
            ("2026-11-28T18:55:00Z", None),
        ] {
            let next = until_next_tick(&nights, at(now), limit);
            assert_eq!(next, expected.map(Duration::from_secs), "{now}");
        }
        assert_eq!(
            until_next_tick(&[], at("2026-11-23T18:55:00Z"), limit),
            None
        );
    }

    #[test]
    fn a_time_that_was_missed_for_more_than_a_week_does_not_count() {
        let yearly = [schedule("0 20 1 1 *", "", "")];
        assert!(tick(&yearly, "2025-12-01T00:00:00Z", "2026-01-08T12:00:00Z").is_some());
        assert_eq!(
            tick(&yearly, "2025-12-01T00:00:00Z", "2026-01-09T12:00:00Z"),
            None
        );
    }

    #[test]
    fn of_two_at_the_same_time_the_first_counts() {
        let both = |first: HibernationSchedule, second| {
            tick(
                &[first, second],
                "2026-01-01T00:00:00Z",
                "2026-01-02T00:00:00Z",
            )
            .map(|it| it.1)
        };
        let (sleep, wake) = (
            schedule("0 12 * * *", "", ""),
            schedule("", "0 12 * * *", ""),
        );
        assert_eq!(both(sleep.clone(), wake.clone()), Some(true));
        assert_eq!(both(wake, sleep), Some(false));
    }

    #[test]
    fn days_on_which_the_clocks_change_have_one_evening_and_one_morning() {
        let nights = [schedule("30 2 * * *", "0 7 * * *", "Europe/Berlin")];
        for (day, sleeps, wakes) in [
            ("2026-03-29", "2026-03-29T01:30:00Z", "2026-03-29T05:00:00Z"),
            ("2026-10-25", "2026-10-25T00:30:00Z", "2026-10-25T06:00:00Z"),
        ] {
            let midnight = format!("{day}T00:00:00Z");
            let before = |time: &str| at(time) - 1;
            let found = |now| latest_tick(&nights, at(&midnight), now);
            assert_eq!(found(before(sleeps)), None, "{day}");
            let sleep = Tick {
                time: at(sleeps),
                hibernates: true,
            };
            assert_eq!(found(at(sleeps)), Some(sleep), "{day}");
            assert_eq!(found(before(wakes)), Some(sleep), "{day}");
            let wake = Tick {
                time: at(wakes),
                hibernates: false,
            };
            assert_eq!(found(at(wakes)), Some(wake), "{day}");
        }
    }
}
