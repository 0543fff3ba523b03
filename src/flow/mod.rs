//! Runs plans until all is done; knows neither Kubernetes nor the terminal.

mod event;
mod progress;
mod retry;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use event::{Event, EventKind, Status};
#[cfg(test)]
pub(crate) use progress::Progress;
pub(crate) use run::{Answer, Limits, Outcome, Report, run};
