//! The result of a run, in words and as an exit code.

use crate::app::error::Exit;
use crate::app::signals::Signals;
use crate::flow::{Outcome, RunReport};

/// The result of a run.
pub(crate) struct RunResult {
    pub(crate) exit: Exit,
    /// The outcome in events: converged, failed, timeout, interrupted or refused.
    pub(crate) outcome: &'static str,
    pub(crate) summary: String,
    /// Advice on the root cause.
    pub(crate) hint: Option<String>,
    /// The command that resumes the run.
    pub(crate) resume: Option<String>,
}

impl RunResult {
    /// Nothing was changed, because a precondition failed.
    pub(crate) fn refused(exit: Exit, why: &str, resume: Option<String>) -> RunResult {
        RunResult {
            exit,
            outcome: "refused",
            summary: format!("{why}; nothing was changed"),
            hint: None,
            resume,
        }
    }

    pub(crate) fn converged(summary: String) -> RunResult {
        RunResult {
            exit: Exit::Done,
            outcome: "converged",
            summary,
            hint: None,
            resume: None,
        }
    }

    /// `success` is the summary of a run that converged.
    pub(crate) fn of(
        report: &RunReport,
        signals: &Signals,
        resume: Option<String>,
        success: String,
    ) -> RunResult {
        let progress = format!("{}/{} done", report.done, report.total);
        let (exit, outcome, summary) = match &report.outcome {
            Outcome::Refused(failure) => {
                let exit = Exit::of_class(failure.class, false);
                return RunResult::refused(exit, &failure.message, resume);
            }
            Outcome::Converged => (Exit::Done, "converged", success),
            Outcome::Stuck => (
                exit_of_failures(report),
                "failed",
                format!("{} ({progress})", first_failure(report)),
            ),
            Outcome::Timeout => (
                Exit::Timeout,
                "timeout",
                format!("timed out ({progress}): {}", first_wait(report)),
            ),
            Outcome::Interrupted => (
                signals.exit(),
                "interrupted",
                format!("interrupted, {progress}"),
            ),
            Outcome::Lost => (
                Exit::Partly,
                "failed",
                format!("lost the lock, another run may hold it ({progress})"),
            ),
        };
        RunResult {
            resume: resume.filter(|_| exit != Exit::Done),
            exit,
            outcome,
            summary,
            hint: None,
        }
    }
}

/// The most severe class decides: it has to be fixed first.
fn exit_of_failures(report: &RunReport) -> Exit {
    let classes = report.failed.iter().map(|(_, failure)| failure.class);
    classes.min().map_or(Exit::Partly, |class| {
        Exit::of_class(class, report.performed > 0)
    })
}

fn first_failure(report: &RunReport) -> String {
    match report.failed.as_slice() {
        [] => "no further progress is possible".to_owned(),
        [(title, failure), rest @ ..] => format!(
            "cannot {}: {}{}",
            lower_first(title),
            failure.message,
            and_more(rest.len())
        ),
    }
}

fn first_wait(report: &RunReport) -> String {
    match report.waiting.as_slice() {
        [] => "nothing is in progress".to_owned(),
        [(title, why), rest @ ..] => {
            format!("{}: {why}{}", lower_first(title), and_more(rest.len()))
        }
    }
}

fn and_more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    }
}

fn lower_first(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}
