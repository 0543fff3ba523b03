//! Cron expressions of five fields.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use std::ops::RangeInclusive;

/// A cron expression: minute, hour, day of the month, month, day of the week.
///
/// A time that a time zone skips is that much later, and one that it repeats counts once, when it is there first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cron {
    /// Bits of the values that match.
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    /// From 0, Sunday.
    weekdays: u64,
    /// A day matches either field if both are restricted.
    is_any_day: bool,
    is_any_weekday: bool,
}

/// Days up to the next leap day, at most: years such as 2100 have none.
const MAX_DAYS: i32 = 8 * 366;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// The message is a clause that names the part that is wrong.
    pub(crate) fn parse(text: &str) -> Result<Cron, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!("it has {} fields instead of five", fields.len()));
        };
        let weekdays = field(weekday, 0..=7, 0, &WEEKDAYS)?;
        Ok(Cron {
            minutes: field(minute, 0..=59, 0, &[])?,
            hours: field(hour, 0..=23, 0, &[])?,
            days: field(day, 1..=31, 1, &[])?,
            months: field(month, 1..=12, 1, &MONTHS)?,
            // 7 is Sunday, too.
            weekdays: (weekdays | (weekdays >> 7)) & 0x7f,
            is_any_day: day.starts_with(['*', '?']),
            is_any_weekday: weekday.starts_with(['*', '?']),
        })
    }

    /// The latest time that matches, after `after` and not after `until`; None if there is none, or only one that is more
    /// than `days` days before `until`.
    pub(crate) fn latest(
        &self,
        zone: &TimeZone,
        after: Timestamp,
        until: Timestamp,
        days: i32,
    ) -> Option<Timestamp> {
        // A skipped time may move to the next day.
        let first = until.to_zoned(zone.clone()).date();
        let found = (0..=days).filter_map(|back| {
            let date = first.checked_sub(Span::new().days(back)).ok()?;
            let times = self.times(date, zone);
            times.filter(|it| *it > after && *it <= until).max()
        });
        found.max()
    }

    /// The first time in UTC that matches after `after`; None if there is none within [`MAX_DAYS`].
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let first = after.to_zoned(TimeZone::UTC).date();
        (0..=MAX_DAYS).find_map(|ahead| {
            let date = first.checked_add(Span::new().days(ahead)).ok()?;
            self.times(date, &TimeZone::UTC).find(|it| *it > after)
        })
    }

    /// Returns true if there is a time that matches: February has no 30th day.
    pub(crate) fn has_times(&self) -> bool {
        self.next(Timestamp::UNIX_EPOCH).is_some()
    }

    /// All times of a day that match.
    fn times(&self, date: Date, zone: &TimeZone) -> impl Iterator<Item = Timestamp> {
        let is_day = self.matches_day(date);
        let hours = (0..24).filter(move |it| is_day && has(self.hours, i64::from(*it)));
        hours.flat_map(move |hour| {
            let minutes = (0..60).filter(|it| has(self.minutes, i64::from(*it)));
            minutes.filter_map(move |minute| {
                let time = date.at(hour, minute, 0, 0);
                let time = zone.to_ambiguous_timestamp(time).compatible();
                time.ok()
            })
        })
    }

    fn matches_day(&self, date: Date) -> bool {
        let day = has(self.days, date.day().into());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset().into());
        let is_day = match self.is_any_day || self.is_any_weekday {
            true => day && weekday,
            false => day || weekday,
        };
        is_day && has(self.months, date.month().into())
    }
}

fn has(bits: u64, value: i64) -> bool {
    bits & (1 << value) != 0
}

/// Bits of the values of a field: a comma-separated list of values, ranges and steps.
fn field(
    text: &str,
    range: RangeInclusive<u8>,
    first_name: u8,
    names: &[&str],
) -> Result<u64, String> {
    let mut bits = 0;
    for part in text.split(',') {
        bits |= entry(part, &range, first_name, names).ok_or_else(|| {
            format!(
                "{part:?} is not between {} and {}",
                range.start(),
                range.end()
            )
        })?;
    }
    Ok(bits)
}

fn entry(text: &str, range: &RangeInclusive<u8>, first_name: u8, names: &[&str]) -> Option<u64> {
    let value = |text: &str| {
        let lower = text.to_ascii_lowercase();
        let name = names.iter().position(|it| *it == lower);
        let value = match name {
            Some(name) => u8::try_from(name).ok()? + first_name,
            None if text.bytes().all(|it| it.is_ascii_digit()) => text.parse().ok()?,
            None => return None,
        };
        range.contains(&value).then_some(value)
    };
    let (values, step) = match text.split_once('/') {
        Some((values, step)) => (values, Some(step)),
        None => (text, None),
    };
    let step: u8 = match step {
        Some(step) if step.bytes().all(|it| it.is_ascii_digit()) => step.parse().ok()?,
        Some(_) => return None,
        None => 1,
    };
    let (from, to) = match values.split_once('-') {
        Some((from, to)) => (value(from)?, value(to)?),
        None if values == "*" || values == "?" => (*range.start(), *range.end()),
        // A value with a step has no end.
        None if text.contains('/') => (value(values)?, *range.end()),
        None => (value(values)?, value(values)?),
    };
    if step == 0 || from > to {
        return None;
    }
    let values = (from..=to).step_by(step.into());
    Some(values.fold(0, |bits, it| bits | 1 << it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latest(cron: &str, zone: &str, after: &str, until: &str) -> String {
        let zone = TimeZone::get(zone).expect("a time zone");
        let [after, until] = [after, until].map(|it| it.parse().expect("a time"));
        let cron = Cron::parse(cron).expect("an expression");
        let found = cron.latest(&zone, after, until, 7);
        found.map_or_else(|| "none".to_owned(), |it| it.to_string())
    }

    #[test]
    fn expressions_are_lists_of_values_ranges_and_steps() {
        for (text, minutes) in [
            ("0", 1),
            ("0,2", 5),
            ("1-3", 14),
            ("*/30", 1 | 1 << 30),
            ("56/2", 5 << 56),
        ] {
            let cron = Cron::parse(&format!("{text} * * * *")).expect("an expression");
            assert_eq!(cron.minutes, minutes, "{text}");
        }
        let named = Cron::parse("0 20 * JAN-mar mon-FRI").expect("an expression");
        assert_eq!(named, Cron::parse("0 20 * 1-3 1-5").expect("an expression"));
        let sundays = ["0 0 * * 0", "0 0 * * 7", "0 0 * * sun"]
            .map(|it| Cron::parse(it).expect("an expression"));
        assert_eq!(sundays[0].weekdays, 1);
        assert_eq!((&sundays[1].weekdays, &sundays[2].weekdays), (&1, &1));
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "1, * * * *",
            "+1 * * * *",
            "1-2-3 * * * *",
            "@daily",
            "٣ * * * *",
            "*/ * * * *",
        ] {
            assert!(Cron::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_latest_time_is_in_the_time_zone() {
        let day = |cron| {
            latest(
                cron,
                "Europe/Berlin",
                "2026-06-01T00:00:00Z",
                "2026-06-03T18:30:00Z",
            )
        };
        assert_eq!(day("0 20 * * *"), "2026-06-03T18:00:00Z");
        assert_eq!(day("0 21 * * *"), "2026-06-02T19:00:00Z");
        // A Wednesday; Friday was before `after`.
        assert_eq!(day("0 20 * * 5"), "none");
        assert_eq!(day("0 20 * * 1-5"), "2026-06-03T18:00:00Z");
        // Either field of the day.
        assert_eq!(day("0 12 2 * 5"), "2026-06-02T10:00:00Z");
        let exact = latest(
            "0 20 * * *",
            "UTC",
            "2026-06-02T20:00:00Z",
            "2026-06-03T20:00:00Z",
        );
        assert_eq!(exact, "2026-06-03T20:00:00Z");
        let none = latest(
            "0 20 * * *",
            "UTC",
            "2026-06-03T20:00:00Z",
            "2026-06-03T21:00:00Z",
        );
        assert_eq!(none, "none");
    }

    #[test]
    fn the_next_time_is_after_the_given_one() {
        for (cron, after, expected) in [
            ("* * * * *", "2026-06-01T00:00:00Z", "2026-06-01T00:01:00Z"),
            (
                "*/5 * * * *",
                "2026-06-01T23:59:59Z",
                "2026-06-02T00:00:00Z",
            ),
            ("0 3 1 * *", "2026-06-01T03:00:00Z", "2026-07-01T03:00:00Z"),
            ("0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"),
            ("0 0 30 2 *", "2026-06-01T00:00:00Z", "none"),
        ] {
            let cron = Cron::parse(cron).expect("an expression");
            let next = cron.next(after.parse().expect("a time"));
            let next = next.map_or_else(|| "none".to_owned(), |it| it.to_string());
            assert_eq!(next, expected, "{after}");
            assert_eq!(cron.has_times(), expected != "none");
        }
    }

    #[test]
    fn a_time_that_the_clocks_skip_is_later_and_one_that_they_repeat_counts_once() {
        // 02:00 to 03:00 does not exist on 2026-03-29 in Berlin.
        let skipped = latest(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            "2026-03-29T12:00:00Z",
        );
        assert_eq!(skipped, "2026-03-29T01:30:00Z");
        // 02:00 to 03:00 is there twice on 2026-10-25.
        let first = latest(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            "2026-10-25T12:00:00Z",
        );
        assert_eq!(first, "2026-10-25T00:30:00Z");
        let again = latest(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-25T00:30:00Z",
            "2026-10-25T12:00:00Z",
        );
        assert_eq!(again, "none");
        // The hour of the wall clock stays.
        for (until, expected) in [
            ("2026-03-28T23:00:00Z", "19:00"),
            ("2026-03-29T23:00:00Z", "18:00"),
        ] {
            let found = latest("0 20 * * *", "Europe/Berlin", "2026-03-20T00:00:00Z", until);
            assert!(found.contains(expected), "{found}");
        }
    }
}
