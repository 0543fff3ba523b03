//! Counts and durations as people write them.

use std::time::Duration;

/// `1 machine`, `2 machines`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// `42s`, `3m12s`, `1h5m`.
pub(crate) fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Rounds down.
pub(crate) fn format_size(bytes: u64) -> String {
    match bytes {
        small if small < 10 << 10 => format!("{small} bytes"),
        bytes if bytes < 10 << 20 => format!("{} KiB", bytes >> 10),
        bytes => format!("{} MiB", bytes >> 20),
    }
}

/// Reads a duration such as `90s` or `1h30m`.
///
/// # Errors
///
/// The text is not a valid duration.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    crate::model::Duration::parse(text).map(|it| it.value)
}
