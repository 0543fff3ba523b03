//! The expiry of shoots.

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::inspect::shoot_summary::find;
use super::provider::connect::connect;
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::state::names::EXPIRES;
use crate::ui::{age, parse_duration};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::time::Duration;

/// The lifetime of a shoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    FromNow(Duration),
    /// Added to the current expiry.
    Extend(Duration),
}

/// A new expiry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewExpiry {
    In(Lifetime),
    At(Timestamp),
    Never,
}

/// Reads a lifetime such as `2h` or `+2h`.
///
/// # Errors
///
/// The text is not a valid duration.
pub(crate) fn parse_lifetime(text: &str) -> Result<Lifetime, String> {
    match text.strip_prefix('+') {
        Some(more) => parse_duration(more).map(Lifetime::Extend),
        None => parse_duration(text).map(Lifetime::FromNow),
    }
}

/// Sets the expiry of a shoot if one is given, and prints it.
pub(crate) fn ttl(
    name: &str,
    new: Option<NewExpiry>,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let provider = connect(context).await?;
        let record = find(&provider, name, context).await?;
        let now = now(&provider);
        let mut end = expiry(&record);
        if let Some(new) = new {
            end = match new {
                NewExpiry::In(lifetime) => Some(after(end, now, lifetime)?),
                NewExpiry::At(end) => Some(end),
                NewExpiry::Never => None,
            };
            let text = end.map(|end| end.to_string());
            let annotated = provider.annotate(&record, json!({ EXPIRES: text })).await;
            annotated.map_err(failed)?;
        }
        context.ui.data(&format_expiry(name, end, now));
        Ok(Exit::Done)
    })?
}

/// Returns the time after a lifetime.
///
/// # Errors
///
/// The time is out of range.
pub(crate) fn after(
    before: Option<Timestamp>,
    now: Timestamp,
    lifetime: Lifetime,
) -> Result<Timestamp, CommandError> {
    let (from, duration) = match lifetime {
        Lifetime::FromNow(duration) => (now, duration),
        Lifetime::Extend(duration) => (before.unwrap_or(now), duration),
    };
    let duration = SignedDuration::try_from(duration);
    let end = duration.ok().and_then(|it| from.checked_add(it).ok());
    end.ok_or_else(|| CommandError::new(Exit::Usage, "expiry out of range"))
}

/// The expiry of a shoot; None if it never expires.
pub(crate) fn expiry(record: &RecordSnapshot) -> Option<Timestamp> {
    record.annotations.get(EXPIRES)?.parse().ok()
}

/// The time of the server, which all clients have in common.
pub(crate) fn now(provider: &ApiClient) -> Timestamp {
    Timestamp::from_second(provider.current_time()).unwrap_or_else(|_| crate::clock::now())
}

fn format_expiry(name: &str, end: Option<Timestamp>, now: Timestamp) -> String {
    let Some(end) = end else {
        return format!("Shoot {name} has no expiry.\n");
    };
    match Duration::try_from(end.duration_since(now)) {
        Ok(left) => format!("Shoot {name} expires at {end:.0}, in {}.\n", age(left)),
        Err(_) => {
            format!("Shoot {name} expired at {end:.0}; the next kvshoot gc deletes it.\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn a_plus_sign_extends_the_current_expiry() {
        let hour = Duration::from_secs(3600);
        let ends = |before, text| {
            let lifetime = parse_lifetime(text).expect("a time");
            after(before, at(100), lifetime).map_err(drop)
        };
        assert_eq!(ends(Some(at(1000)), "1h"), Ok(at(3700)));
        assert_eq!(ends(Some(at(1000)), "+1h"), Ok(at(4600)));
        assert_eq!(ends(None, "+1h"), Ok(at(3700)));
        assert_eq!(parse_lifetime("1h"), Ok(Lifetime::FromNow(hour)));
        assert!(parse_lifetime("soon").is_err());
        assert_eq!(ends(None, "99999999h"), Err(()));
    }

    #[test]
    fn an_expiry_is_printed_with_the_time_that_remains() {
        assert_eq!(
            format_expiry("dev", None, at(0)),
            "Shoot dev has no expiry.\n"
        );
        assert_eq!(
            format_expiry("dev", Some(at(7200)), at(0)),
            "Shoot dev expires at 1970-01-01T02:00:00Z, in 120m.\n"
        );
        assert!(format_expiry("dev", Some(at(0)), at(1)).starts_with("Shoot dev expired at"));
    }
}
