//! Kills, faults on the wire, locks, foreign objects and request counts.

mod availability;
mod faults;
mod foreign;
mod kills;
mod locks;
mod request_counts;
