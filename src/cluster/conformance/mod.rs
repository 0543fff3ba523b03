//! Checks of what users of a cluster rely on, by objects in a namespace of their own.

pub(crate) mod checks;
mod cluster;
mod names;
mod network;
mod objects;
pub(crate) mod outcome;
mod pods;
mod services;
mod storage;
pub(crate) mod testbed;
mod workloads;
