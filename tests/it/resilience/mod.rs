//! Members of etcd, kills, network faults, hostile servers, locks, lost hosts, expired certificates, objects of others,
//! request counts, and many shoots side by side.

mod availability;
mod etcd;
mod expired;
mod faults;
mod foreign;
mod hostile;
mod hosts;
mod kills;
mod locks;
mod request_counts;
mod rotation;
mod side_by_side;
