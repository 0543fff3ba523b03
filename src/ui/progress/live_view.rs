//! The live picture: what runs stands at the foot of the screen, what is done scrolls away above it.

use super::super::relative_time::elapsed;
use super::super::style::Style;
use super::super::width::wrapped;
use super::item_tracker::ItemTracker;
use super::layout::{Header, frame};
use super::plain_lines::{INTERRUPTED, closing, resume_hint};
use super::short_names::{self, ShortNames};
use crate::flow::{EventKind, ItemStatus, RunEvent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use std::fmt;
use std::time::Duration;

/// Between two pictures; what scrolls away does not wait.
const FRAME: Duration = Duration::from_millis(100);

pub(super) struct LiveView {
    bar: ProgressBar,
    /// Columns and lines.
    size: Box<dyn Fn() -> (usize, usize) + Send>,
    style: Style,
    names: ShortNames,
    track: ItemTracker,
    header: Header,
    drawn: Option<Duration>,
}

impl LiveView {
    pub(super) fn stderr(style: Style) -> Self {
        let term = console::Term::buffered_stderr();
        let size = term.clone();
        let size = move || {
            let (lines, columns) = size.size();
            (columns.into(), lines.into())
        };
        Self::new(Box::new(term), Box::new(size), style)
    }

    pub(super) fn new(
        term: Box<dyn TermLike>,
        size: Box<dyn Fn() -> (usize, usize) + Send>,
        style: Style,
    ) -> Self {
        // No rate of its own: it would drop the last picture before a silence.
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::term_like(term));
        bar.set_style(
            ProgressStyle::with_template("{msg}").expect("the template has one known key"),
        );
        Self {
            bar,
            size,
            style,
            names: ShortNames::default(),
            track: ItemTracker::default(),
            header: Header::default(),
            drawn: None,
        }
    }

    /// What others have to write above.
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
                title,
                status,
                why,
            } => self.item(event.at, id, title, *status, why.as_deref()),
            EventKind::ItemGone { id } => {
                if let Some(item) = self
                    .track
                    .gone(id)
                    .filter(|it| it.status != ItemStatus::Done && !short_names::is_part(&it.title))
                {
                    self.above(self.style.green("gone   "), &short_names::gone(&item.title));
                }
            }
            EventKind::Progress { done, total } => {
                (self.header.done, self.header.total) = (*done, *total);
            }
            EventKind::Retried { id, cause, .. } => {
                self.track.retried(id, cause);
            }
            EventKind::Note { text } => self.above("note   ".to_owned(), text),
            EventKind::Interrupted => {
                self.header.stopping = true;
                self.above(self.style.yellow("stop   "), INTERRUPTED);
            }
            EventKind::RunFinished { .. } => return self.finish(event),
        }
        if self.drawn.is_none_or(|it| event.at >= it + FRAME) {
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

    fn item(&mut self, at: Duration, id: &str, title: &str, status: ItemStatus, why: Option<&str>) {
        let before = self.track.take(at, id, title, status, why);
        let known = self.track.subject(title, status);
        let news = known != Some(status);
        let text = why.map_or_else(|| title.to_owned(), |why| format!("{title}: {why}"));
        match status {
            ItemStatus::Failed if news => self.above(self.style.red("failed "), &text),
            // What was so before the run is no news.
            ItemStatus::Done if news && (before.is_some() || known.is_some()) => {
                self.above(self.style.green("done   "), &text);
            }
            _ => {}
        }
    }

    /// A line that stays, on as many lines of the screen as it needs.
    fn above(&self, word: String, text: &str) {
        let (columns, _) = (self.size)();
        let indent = console::measure_text_width(&word) + 2;
        let lines = wrapped(text, columns.saturating_sub(indent + 1));
        let next = format!("\n{:indent$}", "");
        self.bar.println(format!("{word}  {}", lines.join(&next)));
    }

    fn draw(&mut self, now: Duration) {
        self.drawn = Some(now);
        let picture = frame(&self.header, &self.track, now, (self.size)(), self.style);
        self.bar.set_message(picture.join("\n"));
    }

    fn finish(&self, event: &RunEvent) {
        let EventKind::RunFinished {
            exit_code,
            outcome,
            summary,
            resume,
        } = &event.kind
        else {
            return;
        };
        let word = format!("{outcome:<7}");
        let word = match exit_code {
            0 => self.style.green(word),
            _ => self.style.red(word),
        };
        let summary = format!("{} ({})", closing(outcome, summary), elapsed(event.at));
        self.above(word, &summary);
        let hint = resume_hint(self.style, resume.as_deref());
        if !hint.is_empty() {
            self.bar.println(hint.trim_end());
        }
        self.close();
    }
}

impl fmt::Debug for LiveView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bars")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}
