use super::provider::{self, failed};
use super::running::duration;
use super::shoots::{find, since};
use super::signals::Signals;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{EventSeen, Provider, Said, Where};
use crate::state::key::ClusterSide;
use crate::ui::{Format, Row, age};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::sleep;

/// Show what is said of a cluster's objects, in the provider and inside
#[derive(Debug, clap::Args)]
pub(super) struct EventsArgs {
    /// Name of the shoot
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// Show what comes as well, a line for each, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    /// Only these, such as Warning
    #[arg(long, value_name = "TYPE", value_delimiter = ',', value_parser = ["Normal", "Warning"])]
    types: Vec<String>,
    /// How to print them; with --watch, json is an object a line
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    /// How long to watch; for ever when absent
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "watch")]
    timeout: Option<Duration>,
}

/// How often the way into a shoot is tried that cannot be entered yet.
const TRY: Duration = Duration::from_secs(5);
/// Events that wait to be printed.
const WAITING: usize = 64;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    side: &'static str,
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    namespace: String,
    object: String,
    message: String,
    count: u64,
    source: String,
    /// RFC 3339.
    first_seen: Option<String>,
    last_seen: Option<String>,
    #[serde(skip)]
    last: i64,
    #[serde(skip)]
    ages: [Option<Duration>; 2],
}

pub(super) fn run(args: &EventsArgs, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let looked = async {
            let provider = provider::connect(context).await?;
            let record = find(&provider, &args.name).await?;
            let records = provider.records(Where::Namespace).await.map_err(failed)?;
            let others = records.iter().map(|it| it.name.to_string()).collect();
            let outside = Said::outside(&provider, &record.name, others).await;
            Ok((outside.map_err(failed)?, provider, record.name))
        };
        let (outside, provider, id) = signals.or_interrupted("find the shoot", looked).await?;
        if args.watch {
            let watched = watch(args, context, &outside, &provider, &id);
            return tokio::select! {
                never = watched => never,
                () = signals.first.cancelled() => Ok(signals.exit()),
                () = sleep(args.timeout.unwrap_or(Duration::MAX)) => Ok(Exit::Done),
            };
        }
        let all = all(args, context, &outside, &provider, &id);
        let events = signals.or_interrupted("read the events", all).await?;
        let none = format!("nothing is said of shoot {}", args.name);
        context.ui.list(args.output, &events, &none);
        Ok(Exit::Done)
    })?
}

async fn all(
    args: &EventsArgs,
    context: &Context,
    outside: &Said,
    provider: &Provider,
    id: &str,
) -> Result<Vec<Event>, CommandError> {
    let inside = async { Said::inside(provider, id).await?.all().await };
    let (outer, inner) = tokio::join!(outside.all(), inside);
    let mut seen = outer.map_err(failed)?;
    match inner {
        Ok(inner) => seen.extend(inner),
        Err(error) => {
            let text = format!("events inside the shoot cannot be read: {error}");
            context.ui.warn(&text);
        }
    }
    let now = provider.server_time();
    let events = seen.into_iter().map(|it| Event::of(it, now));
    let mut events: Vec<Event> = events.filter(|it| args.wants(it)).collect();
    events.sort_by_key(|it| it.last);
    Ok(events)
}

async fn watch(
    args: &EventsArgs,
    context: &Context,
    outside: &Said,
    provider: &Provider,
    id: &str,
) -> Result<Exit, CommandError> {
    let (sender, mut heard) = mpsc::channel(WAITING);
    let inside = follow_inside(provider, id, &sender);
    let outside = async { outside.follow(&sender).await.map_err(failed) };
    let print = async {
        let mut known = HashMap::new();
        while let Some(event) = heard.recv().await {
            let said = (event.last, event.count);
            if known.insert(event.uid.clone(), said) == Some(said) {
                continue;
            }
            let event = Event::of(event, provider.server_time());
            if args.wants(&event) {
                context.ui.data(&line(&event, args.output));
            }
        }
    };
    tokio::select! {
        () = print => Ok(Exit::Done),
        ended = outside => ended.map(|()| Exit::Done),
        never = inside => match never {},
    }
}

/// A shoot that is being made can be entered later than it is watched.
async fn follow_inside(
    provider: &Provider,
    id: &str,
    sender: &Sender<EventSeen>,
) -> std::convert::Infallible {
    loop {
        match Said::inside(provider, id).await {
            Ok(inside) => {
                if let Err(error) = inside.follow(sender).await {
                    tracing::debug!(%error, "events inside the shoot cannot be read");
                }
            }
            Err(error) => tracing::debug!(%error, "the shoot cannot be entered"),
        }
        sleep(TRY).await;
    }
}

impl EventsArgs {
    fn wants(&self, event: &Event) -> bool {
        self.types.is_empty() || self.types.contains(&event.kind)
    }
}

fn line(event: &Event, format: Format) -> String {
    match format {
        Format::Json | Format::Yaml => {
            serde_json::to_string(event).expect("plain data is JSON") + "\n"
        }
        _ => {
            let Event {
                side,
                kind,
                reason,
                object,
                message,
                ..
            } = event;
            let time = event.last_seen.as_deref().unwrap_or("<unknown>");
            format!("{time}  {side:<8}  {kind:<7}  {reason}  {object}: {message}\n")
        }
    }
}

impl Event {
    /// `now` is the server's time, in seconds since 1970.
    fn of(seen: EventSeen, now: Option<i64>) -> Event {
        let time = |at: Option<i64>| jiff::Timestamp::from_microsecond(at?).ok();
        let shown = |at| time(at).map(|it| format!("{it:.0}"));
        let age = |at| Some(since(time(at)?.as_second(), now?));
        Event {
            side: match seen.side {
                ClusterSide::Provider => "provider",
                ClusterSide::Shoot => "shoot",
            },
            kind: seen.kind.to_string(),
            reason: seen.reason.to_string(),
            namespace: seen.namespace.to_string(),
            object: seen.object,
            // One line, and nothing that a terminal would take for more than text.
            message: seen.message.replace(char::is_control, " "),
            count: seen.count,
            source: seen.source.to_string(),
            first_seen: shown(seen.first),
            last_seen: shown(seen.last),
            last: seen.last.unwrap_or_default(),
            ages: [age(seen.first), age(seen.last)],
        }
    }
}

impl Row for Event {
    fn headers() -> &'static [&'static str] {
        &["LAST SEEN", "SIDE", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["NAMESPACE", "SOURCE", "FIRST SEEN", "COUNT"]
    }

    fn cells(&self) -> Vec<String> {
        vec![
            shown(self.ages[1]),
            self.side.to_owned(),
            self.kind.clone(),
            self.reason.clone(),
            self.object.clone(),
            self.message.clone(),
        ]
    }

    fn wide_cells(&self) -> Vec<String> {
        vec![
            self.namespace.clone(),
            self.source.clone(),
            shown(self.ages[0]),
            self.count.to_string(),
        ]
    }

    fn name(&self) -> String {
        self.object.clone()
    }
}

fn shown(time: Option<Duration>) -> String {
    time.map_or_else(|| "<unknown>".to_owned(), age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_whatever_the_message_holds() {
        let seen = EventSeen {
            side: ClusterSide::Shoot,
            uid: "u".into(),
            last: Some(9_000_000),
            first: None,
            count: 2,
            kind: "Warning".into(),
            reason: "BackOff".into(),
            object: "pod/a".to_owned(),
            namespace: "ns".into(),
            message: "no\n\x1b[2J".to_owned(),
            source: "kubelet".into(),
        };
        let event = Event::of(seen, Some(19));
        assert_eq!(
            line(&event, Format::Table),
            "1970-01-01T00:00:09Z  shoot     Warning  BackOff  pod/a: no  [2J\n"
        );
        assert_eq!(event.cells()[0], "10s");
        let json: serde_json::Value = serde_json::from_str(&line(&event, Format::Json)).unwrap();
        assert_eq!(
            (&json["type"], &json["count"]),
            (&"Warning".into(), &2.into())
        );
    }
}
