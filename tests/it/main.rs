//! What a person sees of the program, in one binary, since linking takes longer than all tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::print_stdout,
    reason = "what was counted and measured is told with --nocapture"
)]

mod addons;
mod apply;
mod arrows;
mod audit;
mod available;
mod bundle;
mod causes;
mod cluster;
mod complete;
mod counts;
mod cronjob;
mod delete;
mod delete_inside;
mod edits;
mod evacuate;
mod events;
mod examples;
mod expiry;
mod faults;
mod foreign;
mod generated;
mod guests;
mod house;
mod inside;
mod join;
mod kills;
mod kubermatic;
mod kvshoot;
mod life;
mod limits;
mod locks;
mod memory;
mod namespaces;
mod network_policies;
mod pipelines;
mod pki;
mod provider;
mod proxy;
mod reach;
mod readme;
mod render;
mod rolls;
mod run;
mod running;
mod sandbox;
mod sandbox_pods;
mod small;
mod snapshots;
mod types;
mod ui;
mod user_data;
mod watcher;
