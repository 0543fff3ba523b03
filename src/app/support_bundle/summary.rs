//! The output of other commands, and the record, for a support bundle.

use crate::app::error::CommandError;
use crate::app::inspect::images::images_text;
use crate::app::inspect::nodes::nodes_text;
use crate::app::inspect::status::status_text;
use crate::app::preview::plan::plan_text;
use crate::app::provider::doctor::doctor_text;
use crate::cluster::{ApiClient, CollectedPart, RecordSnapshot, Redactor};
use crate::manifest::read_value;
use crate::state::json::to_yaml;
use crate::state::record::{HISTORY, PROFILE, RunRecord, SHOOT};
use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, join_all};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// The most bytes that a ConfigMap can have.
const MAX_RECORD: usize = 2 << 20;
/// Time limit of each command.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Sends the output of commands. Without a record, only that of commands which need none.
pub(super) async fn summary(
    found: &Sender<CollectedPart>,
    provider: &ApiClient,
    record: Option<&RecordSnapshot>,
    redactor: &Redactor,
) {
    type Output<'a> = LocalBoxFuture<'a, Result<String, CommandError>>;
    let mut all: Vec<(&str, Output<'_>)> =
        vec![("doctor", doctor_text(provider, record).boxed_local())];
    if let Some(record) = record {
        all.push(("nodes", nodes_text(provider, record).boxed_local()));
        all.push(("images", images_text(provider, record).boxed_local()));
        all.push(("status", status_text(provider, record).boxed_local()));
        all.push(("plan", plan_text(provider, record).boxed_local()));
    }
    let all = all.into_iter().map(async |(name, output)| {
        let why = match timeout(TIMEOUT, output).await {
            Ok(Ok(text)) => {
                return CollectedPart::File {
                    path: format!("summary/{name}.txt"),
                    text: redactor.text(&text),
                };
            }
            Ok(Err(error)) => [vec![error.message], error.causes].concat().join(": "),
            Err(_) => format!("timed out after {} s", TIMEOUT.as_secs()),
        };
        let what = format!("the output of kvshoot {name}");
        CollectedPart::Missing { what, why }
    });
    for one in join_all(all).await {
        let _ = found.send(one).await;
    }
}

/// The files of the record.
pub(super) fn record(record: &RecordSnapshot, redactor: &Redactor) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (key, text) in &record.data {
        let text = match key.as_str() {
            SHOOT | PROFILE => manifest(text, redactor),
            HISTORY => {
                files.push(("record/history.txt".to_owned(), history(text)));
                redactor.text(text)
            }
            _ => redactor.text(text),
        };
        files.push((format!("record/{key}"), text));
    }
    let mut about = json!({ "metadata": {
        "name": &*record.name,
        "namespace": &*record.namespace,
        "uid": &*record.uid,
        "created": record.created.and_then(|it| jiff::Timestamp::from_second(it).ok()).map(|it| it.to_string()),
        "deleting": record.leaving,
        "annotations": record.annotations,
    } });
    redactor.object(&mut about);
    files.push(("record/record.yaml".to_owned(), yaml(&about)));
    files
}

/// User data in the manifests, which may contain secrets.
pub(super) fn user_data(record: &RecordSnapshot) -> Vec<String> {
    fn find(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, it) in fields {
                    match it.as_str() {
                        Some(text) if key == "userData" => found.push(text.to_owned()),
                        _ => find(it, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|it| find(it, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for key in [SHOOT, PROFILE] {
        let text = record.data.get(key).map_or("", String::as_str);
        if let Some(value) = read_value(text, MAX_RECORD) {
            find(&value, &mut found);
        }
    }
    found
}

/// A manifest without the values of secret fields.
fn manifest(text: &str, redactor: &Redactor) -> String {
    match read_value(text, MAX_RECORD) {
        Some(mut value) => {
            redactor.object(&mut value);
            yaml(&value)
        }
        None => format!("<{} bytes, not valid YAML>\n", text.len()),
    }
}

/// A line per run.
fn history(text: &str) -> String {
    let runs: Vec<RunRecord> = serde_json::from_str(text).unwrap_or_default();
    let lines = runs.iter().map(|run| {
        format!(
            "{}  {:<8} {:>6} s  {:<12} {}\n",
            run.started, run.verb, run.seconds, run.result, run.id
        )
    });
    lines.collect()
}

fn yaml(value: &Value) -> String {
    to_yaml(value)
}
