//! The live view: running items at the bottom of the screen, finished ones scroll away above them.

use super::item_tracker::ItemTracker;
use super::layout::{Header, frame};
use super::plain_lines::{INTERRUPTED, MIN_WAIT, hints};
use super::short_names::{ShortNames, deleted_object, is_part, subject};
use super::terminal::FrameTerminal;
use crate::flow::{EventKind, ItemStatus, RunEvent};
use crate::state::plan::ItemKind;
use crate::ui::format::style::Style;
use crate::ui::format::width::{Elision, wrapped};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

/// Minimum time between two frames. Lines above the live view are printed at once.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct LiveView {
    bar: ProgressBar,
    /// Columns and lines of the terminal.
    size: Box<dyn Fn() -> (usize, usize) + Send>,
    style: Style,
    elision: Elision,
    names: ShortNames,
    items: ItemTracker,
    /// Subjects whose work began in this run; only their completion is printed.
    begun: HashSet<String>,
    header: Header,
    last_frame: Option<Duration>,
}

impl LiveView {
    pub(super) fn stderr(style: Style, elision: Elision) -> Self {
        let size = || {
            let (lines, columns) = console::Term::stderr().size();
            (columns.into(), lines.into())
        };
        let term = Box::new(FrameTerminal::stderr());
        Self::new(term, Box::new(size), style, elision)
    }

    pub(super) fn new(
        term: Box<dyn TermLike>,
        size: Box<dyn Fn() -> (usize, usize) + Send>,
        style: Style,
        elision: Elision,
    ) -> Self {
        // indicatif's rate limit is off: it would drop the last frame before a pause.
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::term_like(term));
        bar.set_style(
            ProgressStyle::with_template("{msg}").expect("the template has one known key"),
        );
        Self {
            bar,
            size,
            style,
            elision,
            names: ShortNames::default(),
            items: ItemTracker::default(),
            begun: HashSet::new(),
            header: Header::default(),
            last_frame: None,
        }
    }

    /// The bar above which other output is printed.
    pub(super) fn live(&self) -> ProgressBar {
        self.bar.clone()
    }

    pub(super) fn event(&mut self, event: &RunEvent) {
        let event = &self.names.shorten(event);
        match &event.kind {
            EventKind::RunStarted {
                verb,
                shoot,
                namespace,
                ..
            } => self.header.what = format!("{verb} {shoot} in namespace {namespace}"),
            EventKind::Item {
                id,
                kind,
                title,
                status,
                why,
            } => self.item(event.at, (id, kind), title, *status, why.as_deref()),
            EventKind::ItemGone { id, remains } => {
                let item = self.items.remove(id);
                let unfinished = item.filter(|it| it.status != ItemStatus::Done);
                if let Some(item) = unfinished.filter(|item| !is_part(&item.kind)) {
                    match &item.kind {
                        ItemKind::Deletion { key, .. } if !remains => {
                            let object = self.names.short(&deleted_object(key));
                            self.above(&self.style.green("deleted"), &object);
                        }
                        // Once it is done, nothing is left to observe.
                        _ if item.status == ItemStatus::Working && !remains => {
                            self.above(&self.style.green("done   "), &item.title);
                        }
                        _ => self.above("dropped", &item.title),
                    }
                }
            }
            EventKind::Progress { done, total } => {
                (self.header.done, self.header.total) = (*done, *total);
            }
            EventKind::Retried { id, cause, .. } => {
                self.items.retried(id, cause);
            }
            EventKind::Note { text } => self.above("note   ", text),
            EventKind::Interrupted => {
                self.header.stopping = true;
                self.above(&self.style.yellow("stop   "), INTERRUPTED);
            }
            EventKind::RunFinished { .. } => return self.finish(event),
        }
        if self
            .last_frame
            .is_none_or(|it| event.at >= it + FRAME_INTERVAL)
        {
            self.draw(event.at);
        }
    }

    pub(super) fn tick(&mut self, now: Duration) {
        if !self.bar.is_finished() {
            self.draw(now);
        }
    }

    pub(super) fn close(&self) {
        self.bar.finish_and_clear();
    }

    fn item(
        &mut self,
        at: Duration,
        (id, kind): (&str, &ItemKind),
        title: &str,
        status: ItemStatus,
        why: Option<&str>,
    ) {
        let before = self.items.update(at, (id, kind), title, status, why);
        let is_new = self.items.update_subject(kind, title, status) != Some(status);
        let subject = subject(kind, title);
        let text = why.map_or_else(|| title.to_owned(), |why| format!("{title}: {why}"));
        match status {
            ItemStatus::Working if !is_part(kind) => {
                self.begun.insert(subject.to_owned());
            }
            ItemStatus::Failed if is_new => self.above(&self.style.red("failed "), &text),
            ItemStatus::Done => {
                let waited = before
                    .filter(|it| it.status == ItemStatus::Waiting && at >= it.since + MIN_WAIT);
                if self.begun.remove(subject) || waited.is_some() && is_new && !is_part(kind) {
                    self.above(&self.style.green("done   "), &text);
                }
            }
            _ => {}
        }
    }

    /// Prints text above the live view, wrapped to the screen.
    fn above(&self, word: &str, text: &str) {
        let (columns, _) = (self.size)();
        let indent = console::measure_text_width(word) + 2;
        let lines = wrapped(text, columns.saturating_sub(indent + 1));
        let next = format!("\n{:indent$}", "");
        self.bar.println(format!("{word}  {}", lines.join(&next)));
    }

    fn draw(&mut self, now: Duration) {
        self.last_frame = Some(now);
        let size = (self.size)();
        let lines = frame(
            &self.header,
            &self.items,
            now,
            size,
            self.style,
            self.elision,
        );
        self.bar.set_message(lines.join("\n"));
    }

    fn finish(&self, event: &RunEvent) {
        let EventKind::RunFinished {
            exit_code,
            summary,
            hint,
            resume,
            ..
        } = &event.kind
        else {
            return;
        };
        let (columns, _) = (self.size)();
        let summary = wrapped(summary, columns.saturating_sub(1)).join("\n");
        self.bar.println(match exit_code {
            0 => self.style.green(summary),
            _ => self.style.red(summary),
        });
        let hints = hints(self.style, hint.as_deref(), resume.as_deref());
        if !hints.is_empty() {
            self.bar.println(hints.trim_end());
        }
        self.close();
    }
}

impl fmt::Debug for LiveView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveView")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}
