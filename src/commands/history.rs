//! What a run leaves on the record: the last operation, in Gardener's words, and a line of history.

use super::Context;
use super::running::Session;
use crate::flow::{Outcome, Report};
use crate::state::record::{CLUSTER_IP, HISTORY, LAST_OPERATION, LastError, Operation, RunRecord};
use serde_json::json;

/// Runs that are kept.
const KEPT: usize = 20;

/// A record that cannot be written is no reason to fail a run that did its work.
pub(super) async fn tell(
    session: &Session<'_>,
    report: &Report,
    is_first: bool,
    context: &Context,
) {
    let operation = operation(report, is_first);
    let mut history = session.history().await;
    history.insert(0, run(session, report, context));
    history.truncate(KEPT);
    let text = |value: serde_json::Result<String>| value.expect("plain data is JSON");
    let mut data = json!({
        LAST_OPERATION: text(serde_json::to_string(&operation)),
        HISTORY: text(serde_json::to_string(&history)),
    });
    if let Some(address) = session.cluster_ip() {
        data[CLUSTER_IP] = json!(&*address);
    }
    if let Err(error) = session.report(data).await {
        tracing::debug!(%error, "the record does not tell of this run");
    }
}

fn operation(report: &Report, is_first: bool) -> Operation {
    let (state, description) = match report.outcome {
        Outcome::Converged => (
            "Succeeded",
            "Shoot cluster has been successfully reconciled.".to_owned(),
        ),
        Outcome::Interrupted => ("Aborted", "The run was interrupted.".to_owned()),
        Outcome::Timeout => ("Error", "Time was up before all was done.".to_owned()),
        Outcome::Stuck | Outcome::Lost => (
            "Error",
            "Something failed. Operation will be retried by the next apply.".to_owned(),
        ),
    };
    let progress = (report.done * 100).checked_div(report.total).unwrap_or(100);
    Operation {
        kind: if is_first { "Create" } else { "Reconcile" }.to_owned(),
        state: state.to_owned(),
        progress: u8::try_from(progress.min(100)).unwrap_or(100),
        description,
        last_update_time: now(),
        last_errors: report
            .failed
            .iter()
            .map(|(title, failure)| LastError {
                description: failure.message.clone(),
                task_id: title.clone(),
                codes: failure
                    .class
                    .gardener_code()
                    .map(str::to_owned)
                    .into_iter()
                    .collect(),
            })
            .collect(),
    }
}

fn run(session: &Session<'_>, report: &Report, context: &Context) -> RunRecord {
    let elapsed = session.elapsed();
    let started = jiff::Timestamp::now()
        .checked_sub(jiff::SignedDuration::try_from(elapsed).unwrap_or_default());
    RunRecord {
        id: context.run_id.clone(),
        verb: session.verb().to_owned(),
        started: started.map_or_else(|_| now(), |it| format!("{it:.0}")),
        seconds: elapsed.as_secs(),
        result: format!("{:?}", report.outcome).to_lowercase(),
    }
}

fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}
