//! Checks of what users of a cluster rely on, by objects in a namespace of their own.

mod agents;
pub(crate) mod checks;
mod cluster;
mod names;
mod network;
pub(crate) mod node_versions;
mod objects;
pub(crate) mod outcome;
mod pods;
mod services;
mod state;
mod storage;
pub(crate) mod testbed;
mod workloads;
