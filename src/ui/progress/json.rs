//! Events for programs: one JSON object a line, and `run.finished` always the last.

use super::super::tty_stream::Stream;
use super::super::{ErrorMessage, RunLabel};
use crate::flow::{EventKind, RunEvent};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Raised when a field changes its meaning or goes; new fields and types do not raise it.
const VERSION: u32 = 1;

pub(in super::super) struct JsonEvents {
    err: Arc<Stream>,
    run: RunLabel,
    now: fn() -> Timestamp,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the last event, for what is told beside the run.
    at: Duration,
    /// How the run ended; kept back, so that nothing comes after it.
    end: Option<Map<String, Value>>,
    error: Option<Value>,
    closed: bool,
}

impl JsonEvents {
    pub(in super::super) fn new(err: Arc<Stream>, run: RunLabel) -> Self {
        Self {
            err,
            run,
            now: Timestamp::now,
            state: Mutex::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn at(self, now: fn() -> Timestamp) -> Self {
        Self { now, ..self }
    }

    pub(super) fn event(&self, event: &RunEvent) {
        let fields = fields(&event.kind);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.at = event.at;
        match event.kind {
            EventKind::RunFinished { .. } => state.end = Some(fields),
            _ => self.write(event.at, type_of(&event.kind), fields),
        }
    }

    pub(in super::super) fn note(&self, level: &str, text: &str) {
        self.beside("note", json!({"level": level, "text": text}));
    }

    pub(in super::super) fn problem(&self, problem: Value) {
        self.beside("manifest.problem", json!({"problem": problem}));
    }

    /// What is told beside the run, at the time of its last event.
    fn beside(&self, kind: &'static str, fields: Value) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.closed {
            self.write(state.at, kind, object(fields));
        }
    }

    /// Keeps the error, for it belongs to the last line.
    pub(in super::super) fn fail(&self, failure: ErrorMessage<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.error = Some(json!({
            "message": failure.message,
            "causes": failure.causes,
            "hints": failure.hints,
        }));
    }

    /// Writes the last line, also for a run that never began.
    pub(in super::super) fn close(&self, exit_code: u8) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.finish(&mut state, exit_code);
    }

    /// Whether it could be told; never waits, for whoever panicked may hold the lock.
    pub(in super::super) fn panicked(&self, exit_code: u8, message: &str) -> bool {
        let Ok(mut state) = self.state.try_lock() else {
            return false;
        };
        state.end = None;
        state.error = Some(json!({"message": message, "causes": [], "hints": []}));
        self.finish(&mut state, exit_code);
        true
    }

    fn finish(&self, state: &mut State, exit_code: u8) {
        if std::mem::replace(&mut state.closed, true) {
            return;
        }
        let error = state.error.take();
        let mut fields = state.end.take().unwrap_or_else(|| {
            let outcome = if exit_code == 0 { "done" } else { "refused" };
            let summary = error
                .as_ref()
                .map_or("", |it| it["message"].as_str().unwrap_or(""));
            object(json!({"outcome": outcome, "summary": summary}))
        });
        fields.insert("exit_code".to_owned(), exit_code.into());
        if let Some(error) = error {
            fields.insert("error".to_owned(), error);
        }
        self.write(state.at, "run.finished", fields);
    }

    fn write(&self, at: Duration, kind: &'static str, mut fields: Map<String, Value>) {
        fields.retain(|_, value| !value.is_null());
        let line = Line {
            v: VERSION,
            kind,
            ts: (self.now)().to_string(),
            at_ms: millis(at),
            run: &self.run.id,
            verb: self.run.verb,
            fields,
        };
        let line = serde_json::to_string(&line).expect("plain data is JSON");
        self.err.write(&format!("{line}\n"));
    }
}

/// What every line has, and what is its own.
#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    ts: String,
    /// Since the run began.
    at_ms: u64,
    run: &'a str,
    verb: &'static str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn type_of(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::RunStarted { .. } => "run.started",
        EventKind::Item { .. } => "item.changed",
        EventKind::ItemGone { .. } => "item.gone",
        EventKind::Progress { .. } => "progress",
        EventKind::Retried { .. } => "item.retried",
        EventKind::Note { .. } => "note",
        EventKind::Interrupted => "run.interrupted",
        EventKind::RunFinished { .. } => "run.finished",
    }
}

fn fields(kind: &EventKind) -> Map<String, Value> {
    object(match kind {
        EventKind::RunStarted {
            verb: _,
            shoot,
            technical_id,
            namespace,
        } => json!({"shoot": shoot, "technical_id": technical_id, "namespace": namespace}),
        EventKind::Item {
            id,
            title,
            status,
            why,
        } => json!({"id": id, "title": title, "status": status.word(), "why": why}),
        EventKind::ItemGone { id } => json!({"id": id}),
        EventKind::Progress { done, total } => json!({"done": done, "total": total}),
        EventKind::Retried { id, cause, again } => {
            json!({"id": id, "cause": cause, "again_ms": millis(*again)})
        }
        EventKind::Note { text } => json!({"level": "info", "text": text}),
        EventKind::Interrupted => json!({}),
        EventKind::RunFinished {
            exit_code,
            outcome,
            summary,
            resume,
        } => json!({
            "exit_code": exit_code,
            "outcome": outcome,
            "summary": summary,
            "resume": resume,
        }),
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl fmt::Debug for JsonEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLog")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
