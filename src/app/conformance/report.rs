//! Results of checks as text and as JSON.

use crate::app::provider::check_rows::CheckRow;
use crate::app::version::{BuildVersion, VERSION};
use crate::cluster::conformance::node_versions::NodeVersions;
use crate::cluster::conformance::outcome::CheckOutcome;
use crate::state::printable::one_line;
use crate::ui::{Style, count};
use jiff::SignedDuration;
use serde::Serialize;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// How the results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    Text,
    Json,
    Junit,
}

/// The result of one check.
#[derive(Debug)]
pub(super) struct CheckReport {
    pub(super) check: Cow<'static, str>,
    /// The meaning of a failure, if it is known before.
    pub(super) meaning: Option<&'static str>,
    pub(super) outcome: CheckOutcome,
    pub(super) took: Duration,
}

/// The results of all checks.
#[derive(Serialize)]
pub(super) struct ConformanceReport {
    pub(super) name: String,
    /// When the checks began.
    pub(super) started: String,
    pub(super) seconds: f64,
    #[serde(rename = "kvshoot")]
    pub(super) version: BuildVersion,
    /// The word for one of them in messages.
    #[serde(skip)]
    pub(super) noun: &'static str,
    pub(super) checks: Vec<CheckReport>,
}

/// The results with the versions of the cluster and of its provider cluster.
#[derive(Serialize)]
pub(super) struct CompleteReport<'a> {
    #[serde(flatten)]
    pub(super) report: ConformanceReport,
    pub(super) nodes: &'a [NodeVersions],
    /// Versions, features and permissions of the provider cluster.
    pub(super) doctor: Vec<CheckRow>,
}

/// A check as JSON.
#[derive(Serialize)]
struct ReportJson<'a> {
    check: &'a str,
    status: &'static str,
    message: &'a str,
    seconds: f64,
    /// The meaning of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<&'a str>,
}

impl CheckReport {
    pub(super) fn is_failed(&self) -> bool {
        matches!(self.outcome, CheckOutcome::Failed(_))
    }

    pub(super) fn message(&self) -> &str {
        message(&self.outcome)
    }

    pub(super) fn status(&self) -> &'static str {
        status(&self.outcome)
    }

    /// The check as a line, and what its failure means on a second one.
    pub(super) fn line(&self, style: Style) -> String {
        let line = line(&self.check, &self.outcome, style);
        match self.meaning.filter(|_| self.is_failed()) {
            Some(meaning) => format!("{line}{:32}{} {meaning}\n", "", style.cyan("meaning:")),
            None => line,
        }
    }
}

fn message(outcome: &CheckOutcome) -> &str {
    match outcome {
        CheckOutcome::Passed(text)
        | CheckOutcome::Warning(text)
        | CheckOutcome::Failed(text)
        | CheckOutcome::Skipped(text) => text,
    }
}

fn status(outcome: &CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed(_) => "ok",
        CheckOutcome::Warning(_) => "warning",
        CheckOutcome::Failed(_) => "failure",
        CheckOutcome::Skipped(_) => "skipped",
    }
}

/// The outcome of a check as a line.
pub(super) fn line(check: &str, outcome: &CheckOutcome, style: Style) -> String {
    let status = format!("{:<8}", status(outcome));
    let status = match outcome {
        CheckOutcome::Passed(_) => style.green(status),
        CheckOutcome::Warning(_) => style.yellow(status),
        CheckOutcome::Failed(_) => style.red(status),
        CheckOutcome::Skipped(_) => style.dim(status),
    };
    let message = one_line(message(outcome));
    format!("{status} {:<22} {message}\n", one_line(check))
}

impl Serialize for CheckReport {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = ReportJson {
            check: &self.check,
            status: self.status(),
            message: self.message(),
            seconds: self.took.as_secs_f64(),
            meaning: self.meaning.filter(|_| self.is_failed()),
        };
        json.serialize(serializer)
    }
}

impl ConformanceReport {
    /// The results of checks that began at `begun` and have just ended. `noun` is the word for one of them.
    pub(super) fn new(
        name: &str,
        begun: Instant,
        noun: &'static str,
        checks: Vec<CheckReport>,
    ) -> ConformanceReport {
        ConformanceReport {
            name: name.to_owned(),
            started: started(begun),
            seconds: begun.elapsed().as_secs_f64(),
            version: VERSION,
            noun,
            checks,
        }
    }

    /// True if no check failed.
    pub(super) fn is_passed(&self) -> bool {
        self.checks.iter().all(|it| !it.is_failed())
    }

    /// The last line of the text.
    pub(super) fn summary(&self) -> String {
        let number = |status: &str| {
            self.checks
                .iter()
                .filter(|it| it.status() == status)
                .count()
        };
        let parts = [
            ("ok", "passed"),
            ("warning", "with a warning"),
            ("failure", "failed"),
            ("skipped", "skipped"),
        ];
        let parts = parts.map(|(status, word)| (number(status), word));
        let parts = parts.into_iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts
            .map(|(number, word)| format!("{number} {word}"))
            .collect();
        let checks = count(self.checks.len(), self.noun);
        format!("{checks} in {:.0} s: {}\n", self.seconds, parts.join(", "))
    }
}

/// The time of `begun`.
fn started(begun: Instant) -> String {
    let elapsed = SignedDuration::try_from(begun.elapsed()).unwrap_or_default();
    let started = crate::clock::now().checked_sub(elapsed).unwrap_or_default();
    format!("{started:.0}")
}
