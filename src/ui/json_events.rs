//! JSON events (`--progress=json`): one object per line; `run.finished` is always the last.

use super::error_message::ErrorMessage;
use super::settings::RunLabel;
use super::tty_stream::Stream;
use crate::flow::{EventKind, RunEvent};
use crate::state::json::to_json_line;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Incremented when a field is removed or changes its meaning, but not for new fields and event types.
const VERSION: u32 = 1;

/// Writes the events of a run as JSON.
pub(super) struct JsonEvents {
    err: Arc<Stream>,
    run: RunLabel,
    now: fn() -> Timestamp,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Time of the last event, reused for events outside of the run.
    at: Duration,
    /// The final event, held back so that it is the last.
    end: Option<Map<String, Value>>,
    error: Option<Value>,
    closed: bool,
}

impl JsonEvents {
    pub(super) fn new(err: Arc<Stream>, run: RunLabel) -> Self {
        Self {
            err,
            run,
            now: crate::clock::now,
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

    pub(super) fn note(&self, level: &str, text: &str) {
        self.event_outside_run("note", json!({"level": level, "text": text}));
    }

    pub(super) fn problem(&self, problem: Value) {
        self.event_outside_run("manifest.problem", json!({"problem": problem}));
    }

    /// Writes an event that is not part of the run, with the time of the last event.
    fn event_outside_run(&self, kind: &'static str, fields: Value) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.closed {
            self.write(state.at, kind, object(fields));
        }
    }

    /// Stores the error for the final event.
    pub(super) fn fail(&self, error: ErrorMessage<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.error = Some(json!({
            "message": error.message,
            "causes": error.causes,
            "hints": error.hints,
        }));
    }

    /// Writes the final event, also if the run never started.
    pub(super) fn close(&self, exit_code: u8) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.finish(&mut state, exit_code);
    }

    /// Writes the final event after a panic. Returns false if the panicking thread holds the lock.
    pub(super) fn panicked(&self, exit_code: u8, message: &str) -> bool {
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
        self.err.write(&to_json_line(&line));
    }
}

/// Common fields of all events, and those of one event.
#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    ts: String,
    /// Milliseconds since the start of the run.
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
            technical_ids,
            namespace,
        } => match technical_ids.as_slice() {
            [id] => json!({"shoot": shoot, "technical_id": id, "namespace": namespace}),
            ids => json!({"technical_ids": ids, "namespace": namespace}),
        },
        EventKind::Item {
            id,
            title,
            status,
            why,
            ..
        } => json!({"id": id, "title": title, "status": status.word(), "why": why}),
        EventKind::ItemGone { id, .. } => json!({"id": id}),
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
            hint,
            resume,
        } => json!({
            "exit_code": exit_code,
            "outcome": outcome,
            "summary": summary,
            "hint": hint,
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
