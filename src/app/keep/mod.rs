//! `kvshoot keep`: the plan of each shoot on a loop, limited to the manifest that was applied last.

mod autoscaler;
mod backups;
pub(crate) mod deployment;
pub(crate) mod election;
mod keeper;
mod listen;
mod metrics;
pub(crate) mod monitoring;
pub(crate) mod options;
mod pause;
mod scope;
mod shoot;
mod updates;
mod volumes;
