//! The events of a run, with the time since its start.

use super::group::RunGroup;
use crate::flow::{EventKind, RunEvent};
use crate::ui::Progress;
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::Instant;

/// Sends events to the progress output.
pub(super) struct Reporter<'a> {
    started: Instant,
    output: Output<'a>,
}

/// The progress output of this run alone, or of several runs.
enum Output<'a> {
    Own(Box<RefCell<Progress>>),
    Group { group: &'a RunGroup, shoot: String },
}

impl<'a> Reporter<'a> {
    pub(super) fn new(started: Instant, progress: Progress) -> Reporter<'a> {
        Reporter {
            started,
            output: Output::Own(Box::new(RefCell::new(progress))),
        }
    }

    /// Reports the run of one shoot of a group.
    pub(super) fn of_group(started: Instant, group: &'a RunGroup, shoot: &str) -> Reporter<'a> {
        let shoot = shoot.to_owned();
        Reporter {
            started,
            output: Output::Group { group, shoot },
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sends an event that happens now.
    pub(super) fn report(&self, kind: EventKind) {
        match &self.output {
            Output::Own(progress) => {
                let at = self.elapsed();
                progress.borrow_mut().event(&RunEvent { at, kind });
            }
            Output::Group { group, shoot } => group.forward(shoot, kind),
        }
    }

    pub(super) fn note(&self, text: impl Into<String>) {
        self.report(EventKind::Note { text: text.into() });
    }

    /// Redraws what depends on the time.
    pub(super) fn tick(&self) {
        match &self.output {
            Output::Own(progress) => progress.borrow_mut().tick(self.elapsed()),
            Output::Group { group, .. } => group.tick(),
        }
    }
}
