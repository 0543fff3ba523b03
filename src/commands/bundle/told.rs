//! What kvshoot itself has to say of a shoot, for its bundle.

use super::super::{CommandError, doctor, images, nodes, plan, status};
use crate::cluster::{Found, Provider, RecordSeen, Redactor};
use crate::state::record::{HISTORY, PROFILE, RunRecord, SHOOT};
use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, join_all};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// How long any command may take to say it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What commands say: with a record those that need one, without it those that do not.
pub(super) async fn summary(
    found: &Sender<Found>,
    provider: &Provider,
    id: &str,
    record: Option<&RecordSeen>,
    redactor: &Redactor,
) {
    type Said<'a> = LocalBoxFuture<'a, Result<String, CommandError>>;
    let mut all: Vec<(&str, Said<'_>)> = vec![
        ("nodes", nodes::told(provider, id).boxed_local()),
        ("images", images::told(provider, id).boxed_local()),
        ("doctor", doctor::told(provider, record).boxed_local()),
    ];
    if let Some(record) = record {
        all.push(("status", status::told(provider, record).boxed_local()));
        all.push(("plan", plan::told(provider, record).boxed_local()));
    }
    let all = all.into_iter().map(async |(name, said)| {
        let why = match timeout(PATIENCE, said).await {
            Ok(Ok(text)) => {
                return Found::Piece {
                    path: format!("summary/{name}.txt"),
                    text: redactor.text(&text),
                };
            }
            Ok(Err(error)) => [vec![error.message], error.causes].concat().join(": "),
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        let what = format!("what kvshoot {name} says");
        Found::Missing { what, why }
    });
    for one in join_all(all).await {
        let _ = found.send(one).await;
    }
}

/// The record, file by file.
pub(super) fn record(record: &RecordSeen, redactor: &Redactor) -> Vec<(String, String)> {
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

/// Texts in a manifest that its machines are told, and which may be anything.
pub(super) fn user_data(record: &RecordSeen) -> Vec<String> {
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
        if let Ok(value) = serde_yaml::from_str(text) {
            find(&value, &mut found);
        }
    }
    found
}

/// Without what is secret by its field, and not only by its looks.
fn manifest(text: &str, redactor: &Redactor) -> String {
    match serde_yaml::from_str::<Value>(text) {
        Ok(mut value) => {
            redactor.object(&mut value);
            yaml(&value)
        }
        Err(_) => format!("<{} bytes that are no YAML>\n", text.len()),
    }
}

/// How long each run took, and how it ended.
fn history(text: &str) -> String {
    let runs: Vec<RunRecord> = serde_json::from_str(text).unwrap_or_default();
    let lines = runs.iter().map(|it| {
        format!(
            "{}  {:<8} {:>6} s  {:<12} {}\n",
            it.started, it.verb, it.seconds, it.result, it.id
        )
    });
    lines.collect()
}

fn yaml(value: &Value) -> String {
    serde_yaml::to_string(value).expect("JSON is YAML")
}
