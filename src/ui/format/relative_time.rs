//! Ages and elapsed times.

use std::time::Duration;

/// Formats an age like kubectl (`duration.HumanDuration`): at most two units.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |a: u64, unit: char, b: u64, part: char| match b {
        0 => format!("{a}{unit}"),
        _ => format!("{a}{unit}{b}{part}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, 'd', hours % 24, 'h'),
        () if days < 730 => format!("{days}d"),
        () if days < 8 * 365 => two(days / 365, 'y', days % 365, 'd'),
        () => format!("{}y", days / 365),
    }
}

/// Formats the time since the start of a run as `+mm:ss`; minutes are not limited to 59.
pub(in crate::ui) fn clock(at: Duration) -> String {
    let seconds = at.as_secs();
    format!("+{:02}:{:02}", seconds / 60, seconds % 60)
}

/// Formats a duration as `41s`, `2m05s` or `1h02m`. The width is constant within a unit, so live lines do not move.
pub(in crate::ui) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_formatted_like_kubectl() {
        let formatted = |seconds| age(Duration::from_secs(seconds));
        let days = |days: u64| formatted(days * 86_400);
        assert_eq!(
            [
                formatted(0),
                formatted(119),
                formatted(120),
                formatted(312),
                formatted(600)
            ],
            ["0s", "119s", "2m", "5m12s", "10m"]
        );
        assert_eq!(
            [
                formatted(10_799),
                formatted(10_800),
                formatted(11_100),
                formatted(28_800)
            ],
            ["179m", "3h", "3h5m", "8h"]
        );
        assert_eq!([days(2), days(3), days(8)], ["2d", "3d", "8d"]);
        assert_eq!([days(729), days(730), days(3000)], ["729d", "2y", "8y"]);
    }
}
