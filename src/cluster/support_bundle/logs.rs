//! Logs of containers.

use super::collect::{BundleCollector, CollectedPart, send};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::logs::{ContainerRef, LogTail};
use crate::cluster::objects::core::pod::PartialPod;
use futures::StreamExt as _;
use futures::stream;
use tokio::sync::mpsc::Sender;

/// Bytes kept from the end of a log.
const MAX_BYTES: usize = 10 << 20;
/// Logs that are read concurrently.
const CONCURRENT_LOGS: usize = 4;

/// Path of a log in the bundle.
pub(crate) struct LogPath {
    pub(crate) folder: String,
    /// Without extension.
    pub(crate) file: String,
}

/// One log of a container.
struct Log<'a> {
    pod: &'a PartialPod,
    container: &'a str,
    previous: bool,
}

impl BundleCollector {
    /// Current logs and those of previous containers.
    pub(crate) async fn logs(
        &self,
        parts: &Sender<CollectedPart>,
        of: &ApiClient,
        pods: &[PartialPod],
        log_path: impl Fn(&PartialPod, &str) -> LogPath,
    ) {
        let mut logs: Vec<Log<'_>> = pods.iter().flat_map(logs_of).collect();
        // Crashed containers first, since the time may not be enough for all.
        logs.sort_by_key(|it| !it.previous);
        let read = logs.iter().map(|log| self.log(of, log, &log_path));
        let mut read = stream::iter(read).buffer_unordered(CONCURRENT_LOGS);
        while let Some(one) = read.next().await {
            send(parts, one).await;
        }
    }

    async fn log(
        &self,
        of: &ApiClient,
        log: &Log<'_>,
        log_path: &impl Fn(&PartialPod, &str) -> LogPath,
    ) -> CollectedPart {
        let metadata = &log.pod.metadata;
        let container = ContainerRef {
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            pod: &metadata.name,
            name: log.container,
            previous: log.previous,
        };
        let LogPath { folder, file } = log_path(log.pod, log.container);
        let ending = if log.previous {
            ".previous.log"
        } else {
            ".log"
        };
        let path = format!("{folder}/{file}{ending}");
        let what = path.clone();
        let read = async {
            match of.log_tail(container, MAX_BYTES).await {
                // It has not run yet, or never before.
                Err(Error::Rejected { message, .. }) => Ok(Err(message)),
                Err(Error::NotFound { .. }) => Ok(Err("not found on its node".to_owned())),
                other => other.map(Ok),
            }
        };
        match self.read(&what, read).await {
            Ok(Ok(tail)) => CollectedPart::File {
                path,
                text: self.redactor.log(&format_log(tail)),
            },
            Ok(Err(why)) => CollectedPart::Note(format!("{what} does not exist: {why}")),
            Err(why) => CollectedPart::Missing { what, why },
        }
    }
}

fn format_log(tail: LogTail) -> String {
    match tail.cut {
        0 => tail.text,
        cut => format!(
            "[kvshoot: {cut} bytes omitted; only the last {} MiB are kept]\n{}",
            MAX_BYTES >> 20,
            tail.text
        ),
    }
}

/// Logs of all containers, and previous logs of restarted ones.
fn logs_of(pod: &PartialPod) -> Vec<Log<'_>> {
    let mut logs = Vec::new();
    for (container, is_restarted) in pod.containers_and_restarts() {
        let log = |previous| Log {
            pod,
            container,
            previous,
        };
        logs.push(log(false));
        if is_restarted {
            logs.push(log(true));
        }
    }
    logs
}
