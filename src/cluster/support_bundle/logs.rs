//! What containers say.

use super::collect::{Evidence, Found, send};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::logs::{Container, Tail};
use crate::cluster::json::{items, text};
use futures::StreamExt as _;
use futures::stream;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

/// Bytes of a log that are kept, from its end.
const MOST: usize = 10 << 20;
/// Logs that are held at once.
const AT_ONCE: usize = 4;

/// Where a log goes.
pub(crate) struct Place {
    pub(crate) folder: String,
    /// Without its ending.
    pub(crate) file: String,
}

/// One log of a container.
struct Log<'a> {
    pod: &'a Value,
    container: &'a str,
    previous: bool,
}

impl Evidence {
    /// Current logs and those of the containers before.
    pub(crate) async fn logs(
        &self,
        found: &Sender<Found>,
        of: &Provider,
        pods: &[Value],
        place: impl Fn(&Value, &str) -> Place,
    ) {
        let mut logs: Vec<Log<'_>> = pods.iter().flat_map(logs_of).collect();
        // Those that fell over first, for time may be up before all are read.
        logs.sort_by_key(|it| !it.previous);
        let read = logs.iter().map(|log| self.log(of, log, &place));
        let mut read = stream::iter(read).buffer_unordered(AT_ONCE);
        while let Some(one) = read.next().await {
            send(found, one).await;
        }
    }

    async fn log(
        &self,
        of: &Provider,
        log: &Log<'_>,
        place: &impl Fn(&Value, &str) -> Place,
    ) -> Found {
        let metadata = &log.pod["metadata"];
        let container = Container {
            namespace: text(&metadata["namespace"]),
            pod: text(&metadata["name"]),
            name: log.container,
            previous: log.previous,
        };
        let Place { folder, file } = place(log.pod, log.container);
        let ending = if log.previous {
            ".previous.log"
        } else {
            ".log"
        };
        let path = format!("{folder}/{file}{ending}");
        let what = path.clone();
        let read = async {
            match of.tail(container, MOST).await {
                // It has not run, or never ran before.
                Err(Error::Invalid { message, .. }) => Ok(Err(message)),
                Err(Error::NotFound { .. }) => Ok(Err("its host has none".to_owned())),
                other => other.map(Ok),
            }
        };
        match self.read(&what, read).await {
            Ok(Ok(tail)) => Found::Piece {
                path,
                text: self.redactor.log(&told(tail)),
            },
            Ok(Err(why)) => Found::Note(format!("{what} is not there: {why}")),
            Err(why) => Found::Missing { what, why },
        }
    }
}

fn told(tail: Tail) -> String {
    match tail.cut {
        0 => tail.text,
        cut => format!(
            "[kvshoot: {cut} bytes before this were left out; the last {} MiB are kept]\n{}",
            MOST >> 20,
            tail.text
        ),
    }
}

/// Of all containers, and of those that were started again the log before.
fn logs_of(pod: &Value) -> Vec<Log<'_>> {
    const KINDS: [(&str, &str); 3] = [
        ("initContainers", "initContainerStatuses"),
        ("containers", "containerStatuses"),
        ("ephemeralContainers", "ephemeralContainerStatuses"),
    ];
    let mut logs = Vec::new();
    for (containers, statuses) in KINDS {
        let statuses = items(&pod["status"][statuses]);
        for container in items(&pod["spec"][containers]) {
            let name = text(&container["name"]);
            let mut status = statuses.iter().filter(|it| it["name"] == name);
            let restarts = status.next().and_then(|it| it["restartCount"].as_u64());
            let log = |previous| Log {
                pod,
                container: name,
                previous,
            };
            logs.push(log(false));
            if restarts.unwrap_or_default() > 0 {
                logs.push(log(true));
            }
        }
    }
    logs
}
