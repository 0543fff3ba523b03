//! Kills, network faults, locks, objects of others, and request counts.

mod availability;
mod faults;
mod foreign;
mod kills;
mod locks;
mod request_counts;
