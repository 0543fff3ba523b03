//! Durations.

use super::macros::formatted;

/// A duration in Go's format, such as `1h30m`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Duration {
    text: String,
    pub(crate) value: std::time::Duration,
}

formatted!(
    Duration,
    "duration",
    "string",
    "A length of time such as 30s, 10m or 1h30m"
);

impl Duration {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const UNITS: [(&str, f64); 6] = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ];
        let refuse = || format!("{text:?} is not a valid duration, such as 30s, 10m or 1h30m");
        let (mut rest, mut seconds) = (text, 0.0);
        while !rest.is_empty() && rest != "0" {
            let digits = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .ok_or_else(refuse)?;
            let number: f64 = rest[..digits].parse().map_err(|_| refuse())?;
            rest = &rest[digits..];
            let letters = rest
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(rest.len());
            let (_, factor) = UNITS
                .iter()
                .find(|(unit, _)| *unit == &rest[..letters])
                .ok_or_else(refuse)?;
            seconds += number * factor;
            rest = &rest[letters..];
        }
        let value = std::time::Duration::try_from_secs_f64(seconds).map_err(|_| refuse())?;
        if text.is_empty() {
            Err(refuse())
        } else {
            Ok(Self {
                text: text.to_owned(),
                value,
            })
        }
    }
}
