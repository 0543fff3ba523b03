//! Ages and elapsed times in few letters.

use std::time::Duration;

/// As kubectl tells ages: at most two units, the second only where the first is small.
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

/// `+mm:ss`; minutes go on counting beyond the hour.
pub(super) fn clock(at: Duration) -> String {
    let seconds = at.as_secs();
    format!("+{:02}:{:02}", seconds / 60, seconds % 60)
}

/// `41s`, `2m05s`, `1h02m`: of one width within a unit, so that live lines stand still.
pub(super) fn elapsed(time: Duration) -> String {
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
    fn ages_are_those_of_kubectl() {
        let told = |seconds| age(Duration::from_secs(seconds));
        let days = |days: u64| told(days * 86_400);
        assert_eq!(
            [told(0), told(119), told(120), told(312), told(600)],
            ["0s", "119s", "2m", "5m12s", "10m"]
        );
        assert_eq!(
            [told(10_799), told(10_800), told(11_100), told(28_800)],
            ["179m", "3h", "3h5m", "8h"]
        );
        assert_eq!([days(2), days(3), days(8)], ["2d", "3d", "8d"]);
        assert_eq!([days(729), days(730), days(3000)], ["729d", "2y", "8y"]);
    }
}
