//! The daily maintenance window as an interval of time.

use super::shoot::TimeWindow;

const MINUTE: i64 = 60;
const DAY: i64 = 24 * 3600;

/// A part of each day. Offsets of its bounds are fixed, so that it is at the same time in UTC on all days, also on those
/// on which clocks are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DailyWindow {
    /// Seconds of a day in UTC, from 0 on.
    begin: i64,
    /// Seconds.
    length: i64,
}

impl DailyWindow {
    /// None if a bound is not valid. A window whose bounds are the same is empty.
    pub(crate) fn of(window: &TimeWindow) -> Option<DailyWindow> {
        let begin = seconds_in_utc(&window.begin)?;
        let end = seconds_in_utc(&window.end)?;
        Some(DailyWindow {
            begin: begin.rem_euclid(DAY),
            length: (end - begin).rem_euclid(DAY),
        })
    }

    /// Whole minutes from begin to end.
    pub(crate) fn minutes(self) -> i64 {
        self.length / MINUTE
    }

    /// The part in which work may begin, so that it has `reserve` seconds until the end.
    pub(crate) fn shortened(self, reserve: i64) -> DailyWindow {
        DailyWindow {
            length: (self.length - reserve).max(0),
            ..self
        }
    }

    /// The first second from `time` on that is within the window. Times are in seconds since 1970.
    pub(crate) fn next(self, time: i64) -> i64 {
        match self.is_open(time) {
            true => time,
            false => self.opened(time) + DAY,
        }
    }

    /// The first second of the window after the one that is open at `time`, or that opens next.
    pub(crate) fn after(self, time: i64) -> i64 {
        match self.is_open(time) {
            true => self.opened(time) + DAY,
            false => self.next(time),
        }
    }

    /// Both bounds belong to the window.
    fn is_open(self, time: i64) -> bool {
        time - self.opened(time) <= self.length
    }

    /// When the last window up to `time` opened.
    fn opened(self, time: i64) -> i64 {
        time - (time - self.begin).rem_euclid(DAY)
    }
}

/// Parses `HHMMSS+ZZZZ` into seconds of a day in UTC, which may be those of the day before or after.
pub(crate) fn seconds_in_utc(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let sign = match bytes.get(6)? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    if bytes.len() != 11 {
        return None;
    }
    let part = |from: usize, most: i64| -> Option<i64> {
        let digits = bytes.get(from..from + 2)?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        let value = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (is_number && value <= most).then_some(value)
    };
    let (hours, minutes, seconds) = (part(0, 23)?, part(2, 59)?, part(4, 59)?);
    let (zone_hours, zone_minutes) = (part(7, 14)?, part(9, 59)?);
    Some((hours * 60 + minutes) * 60 + seconds - sign * (zone_hours * 60 + zone_minutes) * 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn window(begin: &str, end: &str) -> DailyWindow {
        let (begin, end) = (begin.to_owned(), end.to_owned());
        DailyWindow::of(&TimeWindow { begin, end }).expect("it is valid")
    }

    fn at(time: &str) -> i64 {
        let time: Timestamp = time.parse().expect("a time");
        time.as_second()
    }

    fn next(window: DailyWindow, time: &str) -> String {
        let next = Timestamp::from_second(window.next(at(time)));
        next.expect("it is in range").to_string()
    }

    #[test]
    fn bounds_are_converted_to_utc() {
        for (text, expected) in [
            ("220000+0100", Some(21 * 3600)),
            ("003000-0130", Some(2 * 3600)),
            ("000001+0100", Some(1 - 3600)),
            ("240000+0000", None),
            ("2200+0100", None),
            ("220000Z", None),
            ("22000٠+01", None),
        ] {
            assert_eq!(seconds_in_utc(text), expected, "{text}");
        }
    }

    #[test]
    fn a_window_opens_each_day_and_both_bounds_belong_to_it() {
        let evening = window("220000+0100", "230000+0100");
        for (time, expected) in [
            ("2026-03-01T20:59:59Z", "2026-03-01T21:00:00Z"),
            ("2026-03-01T21:00:00Z", "2026-03-01T21:00:00Z"),
            ("2026-03-01T21:30:00Z", "2026-03-01T21:30:00Z"),
            ("2026-03-01T22:00:00Z", "2026-03-01T22:00:00Z"),
            ("2026-03-01T22:00:01Z", "2026-03-02T21:00:00Z"),
            ("2026-02-28T23:00:00Z", "2026-03-01T21:00:00Z"),
        ] {
            assert_eq!(next(evening, time), expected, "{time}");
        }
    }

    #[test]
    fn a_window_may_cross_midnight_in_its_zone_and_in_utc() {
        for night in [
            window("233000+0000", "013000+0000"),
            window("003000+0100", "023000+0100"),
            window("183000-0500", "203000-0500"),
        ] {
            assert_eq!(night.minutes(), 120);
            for (time, expected) in [
                ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
                ("2026-03-01T01:30:00Z", "2026-03-01T01:30:00Z"),
                ("2026-03-01T01:30:01Z", "2026-03-01T23:30:00Z"),
                ("2026-12-31T23:59:59Z", "2026-12-31T23:59:59Z"),
            ] {
                assert_eq!(next(night, time), expected, "{time}");
            }
        }
    }

    /// Clocks in Berlin are changed on 2026-03-29 and on 2026-10-25.
    #[test]
    fn a_window_does_not_move_when_clocks_are_changed() {
        let night = window("023000+0100", "033000+0100");
        for day in ["2026-03-28", "2026-03-29", "2026-10-25", "2026-10-26"] {
            let expected = format!("{day}T01:30:00Z");
            assert_eq!(next(night, &format!("{day}T00:00:00Z")), expected);
        }
    }

    #[test]
    fn a_shortened_window_ends_earlier_and_another_one_begins_on_the_next_day() {
        let evening = window("220000+0000", "230000+0000").shortened(15 * MINUTE);
        assert_eq!(
            next(evening, "2026-03-01T22:45:00Z"),
            "2026-03-01T22:45:00Z"
        );
        assert_eq!(
            next(evening, "2026-03-01T22:45:01Z"),
            "2026-03-02T22:00:00Z"
        );
        let within = at("2026-03-01T22:10:00Z");
        assert_eq!(evening.after(within), at("2026-03-02T22:00:00Z"));
        let before = at("2026-03-01T20:00:00Z");
        assert_eq!(evening.after(before), at("2026-03-01T22:00:00Z"));
    }
}
