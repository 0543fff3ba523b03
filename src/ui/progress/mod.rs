//! Progress of a run, from its events: live view, plain lines, JSON, or errors only.

mod item_tracker;
mod layout;
mod live_view;
mod percentage;
mod plain_lines;
mod short_names;
mod terminal;
#[cfg(test)]
mod tests;

use super::error_message::ErrorMessage;
use super::format::width::Elision;
use super::json_events::JsonEvents;
use super::printer::Ui;
use super::settings::ProgressMode;
use crate::flow::{EventKind, RunEvent};
use crate::state::printable::one_line;
use live_view::LiveView;
use plain_lines::PlainLines;
use std::sync::Arc;
use std::time::Duration;
use terminal::NoEcho;

pub(super) use terminal::FrameTerminal;

/// Prints the events of one run.
#[derive(Debug)]
pub(crate) struct Progress {
    ui: Ui,
    reader: Reader,
    /// Held while the live view is on the terminal.
    _keys: Option<NoEcho>,
}

#[derive(Debug)]
enum Reader {
    Live(LiveView),
    Plain(PlainLines),
    Json(Arc<JsonEvents>),
    Silent,
}

impl Ui {
    /// Starts printing the events of a run, as chosen with `--progress`.
    pub(crate) fn progress(&self) -> Progress {
        Progress::new(self)
    }
}

impl Progress {
    fn new(ui: &Ui) -> Self {
        let reader = match (ui.progress_mode(), &ui.json) {
            (_, Some(log)) => Reader::Json(Arc::clone(log)),
            (ProgressMode::Tty, None) => {
                let elision = Elision::new(ui.err.unicode);
                let view = LiveView::stderr(ui.err_style(), elision);
                ui.err.set_live(Some(view.live()));
                Reader::Live(view)
            }
            (ProgressMode::None, None) => Reader::Silent,
            _ => Reader::Plain(PlainLines::new(ui.err_style())),
        };
        let is_live = matches!(reader, Reader::Live(_));
        Self {
            ui: ui.clone(),
            reader,
            _keys: is_live.then(NoEcho::begin),
        }
    }

    pub(crate) fn event(&mut self, event: &RunEvent) {
        match &mut self.reader {
            Reader::Live(view) => view.event(&printable(event)),
            Reader::Plain(lines) => {
                let text = lines.event(&printable(event));
                self.ui.err.write_text(&text);
            }
            Reader::Json(log) => log.event(event),
            Reader::Silent => self.print_error(event),
        }
        if matches!(event.kind, EventKind::RunFinished { .. }) {
            self.ui.err.set_live(None);
        }
    }

    /// Updates elapsed times; to be called at least once a second with the time since the start.
    pub(crate) fn tick(&mut self, now: Duration) {
        match &mut self.reader {
            Reader::Live(view) => view.tick(now),
            Reader::Plain(lines) => self.ui.err.write_text(&lines.tick(now)),
            Reader::Json(_) | Reader::Silent => {}
        }
    }

    fn print_error(&self, event: &RunEvent) {
        if let EventKind::RunFinished {
            exit_code: 1..,
            summary,
            hint,
            resume,
            ..
        } = &event.kind
        {
            self.ui.failure(ErrorMessage {
                message: &lower_case(summary),
                causes: &[],
                hints: &[hint.as_slice(), resume.as_slice()].concat(),
            });
        }
    }
}

impl Drop for Progress {
    /// Clears the live view if the run ends with an error.
    fn drop(&mut self) {
        if let Reader::Live(view) = &self.reader {
            view.close();
        }
        self.ui.err.set_live(None);
    }
}

/// A copy for people, whose texts are single lines without anything that a terminal or CI system obeys.
fn printable(event: &RunEvent) -> RunEvent {
    let mut event = event.clone();
    let texts = match &mut event.kind {
        EventKind::RunStarted {
            shoot, namespace, ..
        } => vec![shoot, namespace],
        EventKind::Item { title, why, .. } => [title].into_iter().chain(why).collect(),
        EventKind::Retried { cause, .. } => vec![cause],
        EventKind::Note { text } => vec![text],
        EventKind::RunFinished {
            summary, resume, ..
        } => [summary].into_iter().chain(resume).collect(),
        EventKind::ItemGone { .. } | EventKind::Progress { .. } | EventKind::Interrupted => vec![],
    };
    for text in texts {
        *text = one_line(text);
    }
    event
}

/// The summary is a sentence; errors begin with a lower-case letter.
fn lower_case(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}
