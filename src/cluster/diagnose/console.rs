//! The last lines on the serial consoles of machines. KubeVirt keeps them as the log of a container, unless
//! `logSerialConsole` is disabled.

use super::cause_chain::{Advice, CauseChain};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::logs::{ContainerRef, LogLines, LogTail};
use crate::cluster::client::request::{ListSelector, ResourceRef};
use crate::cluster::client::resources;
use crate::cluster::objects::core::pod::{CONSOLE, PartialPod};
use crate::cluster::objects::reader::read_valid;
use crate::cluster::support_bundle::line_redactor::LineRedactor;
use crate::cluster::support_bundle::redact::Redactor;
use crate::state::facts::Facts;
use crate::state::names;
use crate::state::printable::shortened;
use futures::future::join_all;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::timeout;

/// Lines that are shown and kept.
const LINES: usize = 10;
/// Bytes that are read for them.
const MAX_BYTES: usize = 16 << 10;
/// Maximum length of a line, in bytes.
const MAX_LINE: usize = 200;
/// Time limit for finding and reading one console. A machine that failed is deleted after that.
const LIMIT: Duration = Duration::from_secs(3);
/// Bytes that are kept of a whole log. A kubelet keeps ten megabytes.
const MAX_LOG: usize = 10 << 20;
/// Time limit for reading a whole log.
const LOG_LIMIT: Duration = Duration::from_secs(30);
/// Machines whose consoles are read for one report.
const MAX_MACHINES: usize = 3;

impl ApiClient {
    /// Returns the last lines on the console of a machine of a shoot, without secrets; none if they cannot be read.
    pub(crate) async fn console_lines(&self, id: &str, machine: &str) -> Vec<String> {
        match timeout(LIMIT, self.console(id, machine)).await {
            Ok(Ok(text)) => last_lines(&text),
            Ok(Err(error)) => {
                tracing::debug!(machine, %error, "cannot read the console");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Returns the last lines on the console of a machine, without escape sequences and secrets. None if KubeVirt does
    /// not keep its console, or if it never ran.
    ///
    /// # Errors
    ///
    /// Reading is forbidden, or the server does not answer.
    pub(crate) async fn console_log(
        &self,
        id: &str,
        machine: &str,
        lines: usize,
    ) -> Result<Option<LogTail>, Error> {
        let pods = self.console_pods(id, machine).await?;
        let Some(pod) = pods.first() else {
            return Ok(None);
        };
        let container = self.console_of(pod);
        let read = self.last_log_lines(container, lines, MAX_LOG, LOG_LIMIT);
        let LogTail { text, cut } = read.await?;
        let text = Redactor::new(&BTreeSet::new()).log(&text);
        let lines = text.lines().map(|it| without_sequences(it) + "\n");
        Ok(Some(LogTail {
            text: lines.collect(),
            cut,
        }))
    }

    /// The last lines on the console of a machine, and those that follow until its instance ends. None as for
    /// [`ApiClient::console_log`].
    ///
    /// # Errors
    ///
    /// As for [`ApiClient::console_log`].
    pub(crate) async fn follow_console(
        &self,
        id: &str,
        machine: &str,
        lines: usize,
    ) -> Result<Option<ConsoleLines>, Error> {
        let pods = self.console_pods(id, machine).await?;
        let Some(pod) = pods.first() else {
            return Ok(None);
        };
        let lines = self.follow_log(self.console_of(pod), lines).await?;
        Ok(Some(ConsoleLines {
            lines,
            redactor: LineRedactor::default(),
        }))
    }

    fn console_of<'a>(&'a self, pod: &'a PartialPod) -> ContainerRef<'a> {
        ContainerRef {
            namespace: self.namespace(),
            pod: &pod.metadata.name,
            name: CONSOLE,
            previous: false,
        }
    }

    /// The pods of a machine that keep its console, the newest one first.
    async fn console_pods(&self, id: &str, machine: &str) -> Result<Vec<PartialPod>, Error> {
        let labels = format!("{},kubevirt.io=virt-launcher", names::selector(id));
        let resource_ref = ResourceRef::all(&resources::POD, Some(&**self.namespace()));
        let listed = self.list_selected(resource_ref, ListSelector::labels(Some(&labels)));
        let pods: Vec<PartialPod> = read_valid(&resources::POD, &listed.await?.items);
        let is_of_machine =
            |it: &PartialPod| it.machine_name() == machine && it.has_container(CONSOLE);
        let mut pods: Vec<PartialPod> = pods.into_iter().filter(is_of_machine).collect();
        // A machine that crashes has a new pod each time, which may not have printed anything.
        pods.sort_by_key(|it| Reverse(it.metadata.creation_timestamp.clone()));
        Ok(pods)
    }

    async fn console(&self, id: &str, machine: &str) -> Result<String, Error> {
        let mut last = Ok(String::new());
        for pod in &self.console_pods(id, machine).await? {
            let read = self.last_log_lines(self.console_of(pod), 4 * LINES, MAX_BYTES, LIMIT);
            last = read.await.map(|it| it.text);
            if last.as_ref().is_ok_and(|it| !it.trim().is_empty()) {
                break;
            }
        }
        last
    }
}

/// A console that is followed.
pub(crate) struct ConsoleLines {
    lines: LogLines,
    redactor: LineRedactor,
}

impl ConsoleLines {
    /// Returns the next line without escape sequences and secrets, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<String, Error>> {
        let line = self.lines.next().await?;
        Some(line.map(|it| without_sequences(&self.redactor.line(&it))))
    }
}

/// Adds the console to causes that a machine runs, and that its guest does not do what it should.
pub(super) async fn add_consoles(
    provider: &ApiClient,
    id: &str,
    facts: &Facts,
    chains: &mut [CauseChain],
) {
    let silent = chains.iter_mut().filter_map(|chain| {
        let is_of_guest = matches!(
            chain.advice,
            Some(Advice::Console | Advice::Network | Advice::Clock { .. })
        );
        let machine = chain.causes.first()?.name.clone();
        let runs = facts.machine(&machine).is_some_and(|it| it.runs);
        (is_of_guest && runs && chain.log.is_empty()).then_some((machine, chain))
    });
    let read = silent.take(MAX_MACHINES).map(async |(machine, chain)| {
        chain.log = provider.console_lines(id, &machine).await;
    });
    join_all(read).await;
}

/// The last lines of a console, without escape sequences, secrets and empty lines.
fn last_lines(text: &str) -> Vec<String> {
    let text = Redactor::new(&BTreeSet::new()).log(text);
    let lines = text.lines().map(plain).filter(|it| !it.is_empty());
    let lines: Vec<String> = lines.collect();
    lines[lines.len().saturating_sub(LINES)..].to_vec()
}

/// A line without escape sequences of terminals and other control characters, shortened.
fn plain(line: &str) -> String {
    shortened(without_sequences(line).trim(), MAX_LINE)
}

fn without_sequences(line: &str) -> String {
    let mut plain = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            // `ESC [ parameters final`, or two characters.
            if letters.next() == Some('[') {
                let is_parameter = |it: &char| (' '..='?').contains(it);
                while letters.next_if(is_parameter).is_some() {}
                letters.next();
            }
        } else if letter == '\t' {
            plain.push(' ');
        } else if !letter.is_control() {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_control_characters_are_removed() {
        let line = "\x1b[0;32m  OK  \x1b[0m] Reached\ttarget \x1b[1mNetwork\x1b[0m\r";
        assert_eq!(plain(line), "OK  ] Reached target Network");
        assert_eq!(plain("\x1b[2J\x1b[H\x1bcGRUB"), "GRUB");
        // Sequences that end with the line.
        assert_eq!(plain("a\x1b"), "a");
        assert_eq!(plain("a\x1b[12"), "a");
        assert_eq!(plain("\x07\u{9b}31mb"), "31mb");
    }

    #[test]
    fn the_last_lines_are_kept_and_long_ones_are_shortened() {
        let text: String = (0..30).map(|it| format!("line {it}\n\n")).collect();
        let lines = last_lines(&text);
        assert_eq!(lines.len(), LINES);
        assert_eq!(
            (lines[0].as_str(), lines[9].as_str()),
            ("line 20", "line 29")
        );
        let long = last_lines(&"ä".repeat(MAX_LINE / 2 + 1));
        assert_eq!(long, [format!("{}…", "ä".repeat(MAX_LINE / 2))]);
    }

    #[test]
    fn tokens_and_passwords_are_not_shown() {
        let text = "token: 0123456789abcdef0123\nroot password=hunter2hunter2\nkernel panic\n";
        let lines = last_lines(text);
        assert_eq!(lines.last().map(String::as_str), Some("kernel panic"));
        let all = lines.join(" ");
        assert!(
            !all.contains("0123456789") && !all.contains("hunter2"),
            "{all}"
        );
    }
}
