use super::provider::{self, failed};
use super::running::duration;
use super::shoots::find;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::plan::names::EXPIRES;
use crate::ui::age;
use clap_complete::engine::ArgValueCompleter;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::time::Duration;

/// Say how long a cluster may live, or show how long it may; kvshoot gc takes those whose time is over
#[derive(Debug, clap::Args)]
pub(super) struct TtlArgs {
    /// Name of the shoot
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// From now on, such as 2h; with a plus sign, such as +2h, longer than until now
    #[arg(value_name = "TIME", value_parser = life, conflicts_with_all = ["until", "never"])]
    life: Option<Life>,
    /// Until then, such as 2026-12-24T18:00:00Z
    #[arg(long, value_name = "TIMESTAMP", conflicts_with = "never")]
    until: Option<Timestamp>,
    /// It is not taken by gc
    #[arg(long)]
    never: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    FromNow(Duration),
    Longer(Duration),
}

fn life(text: &str) -> Result<Life, String> {
    match text.strip_prefix('+') {
        Some(more) => duration(more).map(Life::Longer),
        None => duration(text).map(Life::FromNow),
    }
}

pub(super) fn run(args: &TtlArgs, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let provider = provider::connect(context).await?;
        let record = find(&provider, &args.name).await?;
        let now = now(&provider);
        let end = match (args.life, args.until) {
            (Some(life), _) => Some(after(expiry(&record), now, life)?),
            (None, Some(until)) => Some(until),
            (None, None) if args.never => None,
            (None, None) => {
                context.ui.data(&shown(expiry(&record), now));
                return Ok(Exit::Done);
            }
        };
        let text = end.map(|it| it.to_string());
        let annotated = provider.annotate(&record, json!({ EXPIRES: text })).await;
        annotated.map_err(failed)?;
        context.ui.data(&shown(end, now));
        Ok(Exit::Done)
    })?
}

fn after(before: Option<Timestamp>, now: Timestamp, life: Life) -> Result<Timestamp, CommandError> {
    let (from, life) = match life {
        Life::FromNow(life) => (now, life),
        Life::Longer(life) => (before.unwrap_or(now), life),
    };
    let life = SignedDuration::try_from(life);
    let end = life.ok().and_then(|it| from.checked_add(it).ok());
    end.ok_or_else(|| CommandError::new(Exit::Usage, "no calendar goes as far as that"))
}

/// When a shoot is to go; never, if nobody said when.
pub(super) fn expiry(record: &RecordSnapshot) -> Option<Timestamp> {
    record.annotations.get(EXPIRES)?.parse().ok()
}

/// By the server's clock, which is the one that all who look have in common.
pub(super) fn now(provider: &ApiClient) -> Timestamp {
    Timestamp::from_second(provider.current_time()).unwrap_or_else(|_| Timestamp::now())
}

fn shown(end: Option<Timestamp>, now: Timestamp) -> String {
    let Some(end) = end else {
        return "it does not expire\n".to_owned();
    };
    let left = Duration::try_from(end.duration_since(now));
    match left {
        Ok(left) => format!("it expires at {end:.0}, in {}\n", age(left)),
        Err(_) => format!("it expired at {end:.0}; kvshoot gc takes it\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plus_sign_counts_from_the_end_that_was() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let hour = Duration::from_secs(3600);
        let ends = |before, text| {
            let life = life(text).expect("a time");
            after(before, at(100), life).map_err(drop)
        };
        assert_eq!(ends(Some(at(1000)), "1h"), Ok(at(3700)));
        assert_eq!(ends(Some(at(1000)), "+1h"), Ok(at(4600)));
        assert_eq!(ends(None, "+1h"), Ok(at(3700)));
        assert_eq!(life("1h"), Ok(Life::FromNow(hour)));
        assert!(life("soon").is_err());
        assert_eq!(ends(None, "99999999h"), Err(()));
    }

    #[test]
    fn what_is_over_says_so() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        assert_eq!(shown(None, at(0)), "it does not expire\n");
        assert_eq!(
            shown(Some(at(7200)), at(0)),
            "it expires at 1970-01-01T02:00:00Z, in 120m\n"
        );
        assert!(shown(Some(at(0)), at(1)).starts_with("it expired at"));
    }
}
