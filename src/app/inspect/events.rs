//! `kvshoot events`.

use super::shoot_summary::{find, since};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, EventStream, KubernetesEvent, NamespaceScope};
use crate::state::json::to_json_line;
use crate::state::key::ClusterSide;
use crate::state::printable::one_line;
use crate::ui::{Format, ListRow, age};
use serde::Serialize;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::sleep;

/// Options of `kvshoot events`.
#[derive(Debug)]
pub(crate) struct EventsOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    pub(crate) watch: bool,
    /// Normal, Warning; empty for all types.
    pub(crate) types: Vec<String>,
    pub(crate) output: Format,
    /// Time limit of `watch`.
    pub(crate) timeout: Option<Duration>,
}

/// The interval at which a shoot that is not reachable yet is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// Capacity of the queue of events to print.
const QUEUE: usize = 64;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventRow {
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
    ages: [Option<Duration>; 2],
}

/// Lists the events of a shoot's objects, or prints new ones until a signal.
pub(crate) fn events(options: &EventsOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let found = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.name, context).await?;
            let records = provider
                .records(NamespaceScope::Current)
                .await
                .map_err(failed)?;
            let others = records.iter().map(|it| it.name.to_string()).collect();
            let outside = EventStream::of_provider(&provider, &record, others).await;
            Ok((outside.map_err(failed)?, provider, record.name))
        };
        let (outside, provider, id) = signals.or_interrupted("find the shoot", found).await?;
        if options.watch {
            let watched = watch(options, context, &outside, &provider, &id);
            return tokio::select! {
                ended = watched => ended,
                () = signals.first.cancelled() => Ok(signals.exit()),
                () = sleep(options.timeout.unwrap_or(Duration::MAX)) => Ok(Exit::Done),
            };
        }
        let all = all(options, context, &outside, &provider, &id);
        let events = signals.or_interrupted("read the events", all).await?;
        let now = provider.server_time();
        let events = events.into_iter().map(|event| EventRow::of(event, now));
        let events: Vec<EventRow> = events.filter(|it| options.wants(it)).collect();
        let none = format!("no events of shoot {}", options.name);
        context.ui.list(options.output, &events, &none);
        Ok(Exit::Done)
    })?
}

/// Lists the events of both sides, oldest first.
async fn all(
    options: &EventsOptions,
    context: &Context,
    outside: &EventStream,
    provider: &ApiClient,
    id: &str,
) -> Result<Vec<KubernetesEvent>, CommandError> {
    let inside = async { EventStream::of_shoot(provider, id).await?.list().await };
    let (outer, inner) = tokio::join!(outside.list(), inside);
    let mut events = outer.map_err(failed)?;
    match inner {
        Ok(inner) => events.extend(inner),
        // A watch tries again.
        Err(error) if options.watch => {
            tracing::debug!(%error, "cannot read events inside the shoot");
        }
        Err(error) => {
            let text = format!("cannot read events inside the shoot: {error}");
            context.ui.warn(&text);
        }
    }
    events.sort_by_key(|it| it.last);
    Ok(events)
}

async fn watch(
    options: &EventsOptions,
    context: &Context,
    outside: &EventStream,
    provider: &ApiClient,
    id: &str,
) -> Result<Exit, CommandError> {
    let mut known = HashMap::new();
    let mut print = |event: KubernetesEvent| {
        let version = (event.last, event.count);
        if known.insert(event.uid.clone(), version) == Some(version) {
            return;
        }
        let event = EventRow::of(event, provider.server_time());
        if options.wants(&event) {
            context.ui.data(&line(&event, options.output));
        }
    };
    // Those of both sides in one order; the watches list them again.
    let existing = all(options, context, outside, provider, id).await?;
    existing.into_iter().for_each(&mut print);
    let (sender, mut received) = mpsc::channel(QUEUE);
    let inside = follow_inside(provider, id, &sender);
    let outside = async { outside.follow(&sender).await.map_err(failed) };
    let print = async {
        while let Some(event) = received.recv().await {
            print(event);
        }
    };
    tokio::select! {
        () = print => Ok(Exit::Done),
        ended = outside => ended.map(|()| Exit::Done),
        never = inside => match never {},
    }
}

/// Retries forever: a shoot that is being created becomes reachable later.
async fn follow_inside(
    provider: &ApiClient,
    id: &str,
    sender: &Sender<KubernetesEvent>,
) -> std::convert::Infallible {
    loop {
        match EventStream::of_shoot(provider, id).await {
            Ok(inside) => {
                if let Err(error) = inside.follow(sender).await {
                    tracing::debug!(%error, "cannot read events inside the shoot");
                }
            }
            Err(error) => tracing::debug!(%error, "the shoot is not reachable"),
        }
        sleep(RETRY).await;
    }
}

impl EventsOptions {
    fn wants(&self, event: &EventRow) -> bool {
        self.types.is_empty() || self.types.contains(&event.kind)
    }
}

fn line(event: &EventRow, format: Format) -> String {
    match format {
        Format::Json | Format::Yaml => to_json_line(event),
        _ => {
            let EventRow {
                side,
                kind,
                reason,
                object,
                message,
                ..
            } = event;
            let time = event.last_seen.as_deref().unwrap_or("<unknown>");
            let line = format!("{time}  {side:<8}  {kind:<7}  {reason}  {object}: {message}");
            one_line(&line) + "\n"
        }
    }
}

impl EventRow {
    /// `now` is the server's time, in seconds since 1970.
    fn of(seen: KubernetesEvent, now: Option<i64>) -> EventRow {
        let time = |at: Option<i64>| jiff::Timestamp::from_microsecond(at?).ok();
        let shown = |at| time(at).map(|it| format!("{it:.0}"));
        let age = |at| Some(since(time(at)?.as_second(), now?));
        EventRow {
            side: match seen.side {
                ClusterSide::Provider => "provider",
                ClusterSide::Shoot => "shoot",
            },
            kind: seen.kind.to_string(),
            reason: seen.reason.to_string(),
            namespace: seen.namespace.to_string(),
            object: seen.object,
            message: seen.message,
            count: seen.count,
            source: seen.source.to_string(),
            first_seen: shown(seen.first),
            last_seen: shown(seen.last),
            ages: [age(seen.first), age(seen.last)],
        }
    }
}

impl ListRow for EventRow {
    fn headers() -> &'static [&'static str] {
        &["LAST SEEN", "SIDE", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["NAMESPACE", "SOURCE", "FIRST SEEN", "COUNT"]
    }

    fn cells(&self) -> Vec<String> {
        vec![
            format_age(self.ages[1]),
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
            format_age(self.ages[0]),
            self.count.to_string(),
        ]
    }

    fn name(&self) -> String {
        self.object.clone()
    }
}

fn format_age(time: Option<Duration>) -> String {
    time.map_or_else(|| "<unknown>".to_owned(), age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_printed_on_one_line() {
        let seen = KubernetesEvent {
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
        let event = EventRow::of(seen, Some(19));
        assert_eq!(
            line(&event, Format::Table),
            "1970-01-01T00:00:09Z  shoot     Warning  BackOff  pod/a: no\\n\\x1b[2J\n"
        );
        assert_eq!(event.cells()[0], "10s");
        let json: serde_json::Value = serde_json::from_str(&line(&event, Format::Json)).unwrap();
        assert_eq!(
            (&json["type"], &json["count"]),
            (&"Warning".into(), &2.into())
        );
        assert_eq!(json["message"], "no\n\x1b[2J");
    }
}
