//! The readers of a run's events: a live picture, plain lines, JSON, or silence.

mod item_tracker;
pub(super) mod json;
mod layout;
mod live_view;
mod plain_lines;
mod short_names;
mod terminal_mode;
#[cfg(test)]
mod tests;

use super::{ErrorMessage, Ui};
use crate::flow::{EventKind, RunEvent};
use json::JsonEvents;
use live_view::LiveView;
use plain_lines::PlainLines;
use std::sync::Arc;
use std::time::Duration;
use terminal_mode::NoEcho;

/// How to tell how it goes
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressMode {
    /// tty on a terminal that a person watches, else plain
    #[default]
    Auto,
    /// A live picture
    Tty,
    /// A line for each change
    Plain,
    /// An event on each line, for programs
    Json,
    /// Only how it ended, and only when it failed
    None,
}

/// Reads the events of one run. Once it was given the last event, all has been told that has to be.
#[derive(Debug)]
pub(crate) struct Progress {
    ui: Ui,
    reader: Reader,
    /// Held while a picture stands on the terminal.
    _keys: Option<NoEcho>,
}

#[derive(Debug)]
enum Reader {
    Bars(LiveView),
    Lines(PlainLines),
    Json(Arc<JsonEvents>),
    Silent,
}

impl Progress {
    pub(super) fn new(ui: &Ui) -> Self {
        let reader = match (mode(ui), &ui.json) {
            (_, Some(log)) => Reader::Json(Arc::clone(log)),
            (ProgressMode::Tty, None) => {
                let bars = LiveView::stderr(ui.err_style());
                ui.err.set_live(Some(bars.live()));
                Reader::Bars(bars)
            }
            (ProgressMode::None, None) => Reader::Silent,
            _ => Reader::Lines(PlainLines::new(ui.err_style())),
        };
        let is_live = matches!(reader, Reader::Bars(_));
        Self {
            ui: ui.clone(),
            reader,
            _keys: is_live.then(NoEcho::begin),
        }
    }

    pub(crate) fn event(&mut self, event: &RunEvent) {
        match &mut self.reader {
            Reader::Bars(bars) => bars.event(event),
            Reader::Lines(lines) => self.ui.err.write(&lines.event(event)),
            Reader::Json(log) => log.event(event),
            Reader::Silent => self.tell_failed_end(event),
        }
        if matches!(event.kind, EventKind::RunFinished { .. }) {
            self.ui.err.set_live(None);
        }
    }

    /// Time went on, `now` since the run began; to be called at least once a second.
    pub(crate) fn tick(&mut self, now: Duration) {
        match &mut self.reader {
            Reader::Bars(bars) => bars.tick(now),
            Reader::Lines(lines) => self.ui.err.write(&lines.tick(now)),
            Reader::Json(_) | Reader::Silent => {}
        }
    }

    fn tell_failed_end(&self, event: &RunEvent) {
        if let EventKind::RunFinished {
            exit_code: 1..,
            summary,
            resume,
            ..
        } = &event.kind
        {
            self.ui.failure(ErrorMessage {
                message: summary,
                causes: &[],
                hints: resume.as_slice(),
            });
        }
    }
}

impl Drop for Progress {
    /// A run that ends by an error leaves no picture behind that looks alive.
    fn drop(&mut self) {
        if let Reader::Bars(bars) = &self.reader {
            bars.close();
        }
        self.ui.err.set_live(None);
    }
}

/// What `--progress auto` means here.
pub(super) fn mode(ui: &Ui) -> ProgressMode {
    let settings = &ui.settings;
    let watched = ui.err.terminal && !settings.ci && !settings.dumb;
    match settings.progress {
        ProgressMode::Auto if settings.quiet => ProgressMode::None,
        ProgressMode::Auto if watched => ProgressMode::Tty,
        ProgressMode::Auto => ProgressMode::Plain,
        // There is nothing that can be drawn over in a file.
        ProgressMode::Tty if !ui.err.terminal => ProgressMode::Plain,
        chosen => chosen,
    }
}
