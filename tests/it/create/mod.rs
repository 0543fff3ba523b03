//! Creating a cluster, and what a created cluster has.

mod addons;
mod apply;
mod certificates;
mod cluster;
mod instancetypes;
mod join;
mod memory;
mod namespaces;
mod network_policies;
mod snapshots;
mod user_data;
