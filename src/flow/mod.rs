//! Runs plans until all is done; knows neither Kubernetes nor the terminal.

mod event;
mod progress;
mod retry;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use event::{Event, EventKind, Status};
pub(crate) use run::{Answer, Limits, Outcome, Report, run};
