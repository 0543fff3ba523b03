//! Members of etcd, kills, network faults, locks, objects of others, and request counts.

mod availability;
mod etcd;
mod faults;
mod foreign;
mod kills;
mod locks;
mod request_counts;
mod rotation;
