//! Runs plans until all is done; knows neither Kubernetes nor the terminal.

mod event;
mod changes;
mod retry;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use event::{RunEvent, EventKind, ItemStatus};
#[cfg(test)]
pub(crate) use changes::ChangeTracker;
pub(crate) use run::{ActionResult, RunLimits, Outcome, RunReport, run};
