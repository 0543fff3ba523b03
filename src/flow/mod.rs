//! Runs plans until every item is done. Independent of Kubernetes clients and the terminal.

mod changes;
mod event;
mod merged_runs;
mod retry;
mod run;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use changes::ChangeTracker;
pub(crate) use event::{EventKind, ItemStatus, RunEvent};
pub(crate) use merged_runs::MergedRuns;
pub(crate) use run::{ActionResult, Outcome, RunLimits, RunReport, check_feasible, run};
