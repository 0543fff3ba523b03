//! Creating a cluster, and the properties of a new cluster.

mod addons;
mod apply;
mod certificates;
mod cluster;
mod init;
mod instancetypes;
mod join;
mod memory;
mod namespaces;
mod network_policies;
mod node_certificates;
mod real_provider;
mod snapshots;
mod user_data;
