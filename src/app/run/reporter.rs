//! The events of a run, with the time since its start.

use crate::flow::{EventKind, RunEvent};
use crate::ui::Progress;
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::Instant;

/// Sends events to the progress output.
pub(super) struct Reporter {
    started: Instant,
    progress: RefCell<Progress>,
}

impl Reporter {
    pub(super) fn new(started: Instant, progress: Progress) -> Reporter {
        Reporter {
            started,
            progress: RefCell::new(progress),
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sends an event that happens now.
    pub(super) fn report(&self, kind: EventKind) {
        self.forward(&RunEvent {
            at: self.elapsed(),
            kind,
        });
    }

    pub(super) fn forward(&self, event: &RunEvent) {
        self.progress.borrow_mut().event(event);
    }

    pub(super) fn note(&self, text: impl Into<String>) {
        self.report(EventKind::Note { text: text.into() });
    }

    /// Redraws what depends on the time.
    pub(super) fn tick(&self) {
        self.progress.borrow_mut().tick(self.elapsed());
    }
}
