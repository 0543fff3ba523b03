//! Progress of an operation on a sandbox.

use crate::app::context::Context;
use crate::sandbox::Step;
use crate::ui::{Preparation, StepProgress};
use std::time::Instant;

/// Reports the steps of a long operation.
pub(super) struct StepReporter {
    pub(super) started: Instant,
    steps: Preparation,
}

impl StepReporter {
    pub(super) fn new(context: &Context) -> StepReporter {
        StepReporter {
            started: Instant::now(),
            steps: context.ui.preparation(),
        }
    }

    pub(super) fn reporter(&mut self) -> impl FnMut(Step) + use<'_> {
        |step| {
            let progress = step.count.map(|count| StepProgress {
                done: count.done,
                total: count.total,
                unit: count.unit,
            });
            match step.stays {
                true => self.steps.note(&step.title),
                false => self
                    .steps
                    .step(self.started.elapsed(), &step.title, progress),
            }
        }
    }
}
