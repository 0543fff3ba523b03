//! The root cause of a run that failed or timed out, as `kvshoot why` reports it.

use super::result::RunResult;
use super::session::Session;
use crate::app::context::Context;
use crate::app::why::root_cause::RootCause;
use crate::cluster::Advice;
use crate::flow::{Outcome, RunReport};
use crate::state::failure::ErrorClass;
use std::time::Duration;
use tokio::time::timeout;

/// Time limit of the diagnosis at the end of a run. The result names the first reason of the plan after that.
const LIMIT: Duration = Duration::from_secs(5);

/// Replaces the summary of a run that failed or timed out with its root cause, if that is found in time.
///
/// The record has the errors of this run already: they are a part of the diagnosis.
pub(crate) async fn with_root_cause(
    result: RunResult,
    report: &RunReport,
    session: &Session<'_>,
    context: &Context,
) -> RunResult {
    if !matches!(report.outcome, Outcome::Stuck | Outcome::Timeout) {
        return result;
    }
    let causes = match timeout(LIMIT, session.root_causes(context)).await {
        Ok(Ok(causes)) => causes.unwrap_or_default(),
        Ok(Err(error)) => {
            tracing::debug!(error = error.message, "cannot find the root cause");
            return result;
        }
        Err(_) => return result,
    };
    match headline(report, &causes) {
        Some(cause) => {
            let log = cause.chain.log_lines();
            log.for_each(|line| session.note(line));
            RunResult {
                summary: summarize(report, &cause.to_string()),
                hint: cause.hint.clone(),
                ..result
            }
        }
        None => result,
    }
}

/// Returns the root cause that ended the run: the one with the message of a failed item, otherwise the first one.
///
/// None if there is only the list of remaining steps, which explains less than the items of the plan, and for errors of
/// requests, which the objects do not explain.
fn headline<'a>(report: &RunReport, causes: &'a [RootCause]) -> Option<&'a RootCause> {
    let explains = |it: &&RootCause| it.chain.advice != Some(Advice::Resume);
    let mut causes = causes.iter().filter(explains);
    let messages = report.failed.iter().map(|(_, failure)| &*failure.message);
    let has_message = |it: &&RootCause| {
        let mut messages = messages.clone();
        messages.any(|message| it.chain.message.contains(message))
    };
    let is_request = report.failed.iter().any(|(_, failure)| {
        matches!(
            failure.class,
            ErrorClass::NotAllowed | ErrorClass::Unreachable
        )
    });
    let first = causes.clone().next().filter(|_| !is_request);
    causes.find(has_message).or(first)
}

/// The summary of a failed run, with `cause` as its reason.
fn summarize(report: &RunReport, cause: &str) -> String {
    let progress = format!("{}/{} done", report.done, report.total);
    match report.outcome {
        Outcome::Timeout => format!("timed out ({progress}): {cause}"),
        _ => format!("{cause} ({progress})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Cause, CauseChain};
    use crate::state::failure::Failure;

    fn cause(name: &str, message: &str, advice: Option<Advice>) -> RootCause {
        let chain = CauseChain::new(Cause::new("Machine", name, ""), message);
        RootCause {
            chain: CauseChain { advice, ..chain },
            hint: None,
        }
    }

    fn report(outcome: Outcome, failed: Vec<Failure>) -> RunReport {
        RunReport {
            outcome,
            performed: 3,
            done: 33,
            total: 38,
            failed: failed.into_iter().map(|it| ("Create".into(), it)).collect(),
            waiting: Vec::new(),
        }
    }

    fn message(report: &RunReport, causes: &[RootCause]) -> Option<String> {
        headline(report, causes).map(|it| summarize(report, &it.to_string()))
    }

    #[test]
    fn the_first_root_cause_is_the_reason_of_a_timeout() {
        let report = report(Outcome::Timeout, Vec::new());
        let causes = [cause("a", "i/o timeout", None), cause("b", "late", None)];
        let expected = "timed out (33/38 done): Machine a: i/o timeout";
        assert_eq!(message(&report, &causes).as_deref(), Some(expected));
        assert_eq!(message(&report, &[]), None);
    }

    #[test]
    fn the_root_cause_of_the_failed_item_is_the_reason_of_a_failure() {
        let failure = Failure::new(ErrorClass::Quota, "exceeded quota: few");
        let report = report(Outcome::Stuck, vec![failure]);
        let causes = [
            cause("a", "not joined", None),
            cause("b", "exceeded quota: few", Some(Advice::Quota)),
        ];
        let expected = "Machine b: exceeded quota: few (33/38 done)";
        assert_eq!(message(&report, &causes).as_deref(), Some(expected));
    }

    #[test]
    fn remaining_steps_and_unrelated_causes_explain_nothing() {
        let steps = [cause("a", "remaining steps", Some(Advice::Resume))];
        assert_eq!(message(&report(Outcome::Timeout, Vec::new()), &steps), None);
        let refused = Failure::new(ErrorClass::NotAllowed, "may not patch");
        let other = [cause("a", "not joined", None)];
        assert_eq!(
            message(&report(Outcome::Stuck, vec![refused]), &other),
            None
        );
    }
}
