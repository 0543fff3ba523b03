//! The last operation and the history of runs in the record.

use super::session::Session;
use crate::app::context::Context;
use crate::cluster::{RecordSnapshot, Retryability};
use crate::flow::{Outcome, RunReport};
use crate::state::facts::Facts;
use crate::state::names::display_name;
use crate::state::record::failed_console;
use crate::state::record::{CLUSTER_IP, HISTORY, LAST_OPERATION, LastError, Operation, RunRecord};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// Time between two attempts to write that a deletion began.
const PAUSE: Duration = Duration::from_secs(1);
/// Kind of the operation that deletes a shoot.
const DELETE: &str = "Delete";
/// The number of runs that the record keeps.
const KEPT: usize = 20;

/// Writes the result of a run to the record. A failure is logged only: the run has done its work.
pub(crate) async fn write(
    session: &Session<'_>,
    report: &RunReport,
    is_first: bool,
    context: &Context,
) {
    let operation = operation(report, is_first);
    let record = session.record().await;
    let mut history = earlier_runs(record.as_ref());
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
    if report.outcome == Outcome::Converged {
        // What failed before is of no interest now.
        let keys = record.iter().flat_map(|it| it.data.keys());
        keys.filter(|it| failed_console::is_key(it))
            .for_each(|key| data[key] = Value::Null);
    }
    if let Err(error) = session.write_record(data).await {
        tracing::debug!(%error, "cannot write the result of this run to the record");
    }
}

/// Earlier runs, newest first.
pub(crate) fn earlier_runs(record: Option<&RecordSnapshot>) -> Vec<RunRecord> {
    let text = record.and_then(|it| it.data.get(HISTORY));
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Writes to the record that the shoot is being deleted, and tries again while the API server does not answer. An older
/// Role may forbid it, and the record may be gone: the plan will see.
pub(crate) async fn write_deletion(session: &Session<'_>) {
    let operation = Operation {
        kind: DELETE.to_owned(),
        state: "Processing".to_owned(),
        progress: 0,
        description: "Deletion of the shoot cluster in progress.".to_owned(),
        last_update_time: now(),
        last_errors: Vec::new(),
    };
    let text = serde_json::to_string(&operation).expect("plain data is JSON");
    let data = json!({ LAST_OPERATION: text });
    while let Err(error) = session.write_record(data.clone()).await {
        tracing::debug!(%error, "cannot write the deletion to the record");
        if error.retryability() != Retryability::Retry {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// True if a deletion of the shoot began, and no run has changed it since.
pub(crate) fn is_being_deleted(record: &RecordSnapshot) -> bool {
    let operation = record.data.get(LAST_OPERATION);
    let operation = operation.and_then(|it| serde_json::from_str::<Operation>(it).ok());
    record.leaving || operation.is_some_and(|it| it.kind == DELETE)
}

/// Returns why the shoot is no longer as its record was when it was read; it may change before it is locked.
pub(crate) fn change_since(record: &RecordSnapshot, facts: &Facts) -> Option<String> {
    let name = display_name(&record.name);
    match &facts.record {
        None => Some(format!("shoot {name} was deleted")),
        Some(now) if now.leaving || now.uid != record.uid => {
            Some(format!("shoot {name} is being deleted"))
        }
        Some(now) if now.hash != record.spec_hash() => {
            Some(format!("shoot {name} was changed by another run"))
        }
        Some(_) => None,
    }
}

/// The last operation in Gardener's format.
fn operation(report: &RunReport, is_first: bool) -> Operation {
    let (state, description) = match &report.outcome {
        Outcome::Converged => (
            "Succeeded",
            "Shoot cluster has been successfully reconciled.",
        ),
        Outcome::Interrupted => ("Aborted", "The run was interrupted."),
        Outcome::Timeout => ("Error", "The run timed out."),
        Outcome::Stuck | Outcome::Lost | Outcome::Refused(_) => (
            "Error",
            "The run failed. The operation will be retried by the next apply.",
        ),
    };
    let progress = (report.done * 100).checked_div(report.total).unwrap_or(100);
    Operation {
        kind: if is_first { "Create" } else { "Reconcile" }.to_owned(),
        state: state.to_owned(),
        progress: u8::try_from(progress.min(100)).unwrap_or(100),
        description: description.to_owned(),
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

fn run(session: &Session<'_>, report: &RunReport, context: &Context) -> RunRecord {
    let elapsed = session.elapsed();
    let started =
        crate::clock::now().checked_sub(SignedDuration::try_from(elapsed).unwrap_or_default());
    RunRecord {
        id: context.run_id.clone(),
        verb: session.verb().to_owned(),
        started: started.map_or_else(|_| now(), |time| format!("{time:.0}")),
        seconds: elapsed.as_secs(),
        result: format!("{:?}", report.outcome).to_lowercase(),
    }
}

fn now() -> String {
    format!("{:.0}", crate::clock::now())
}
