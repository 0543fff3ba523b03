//! Observation of shoots: a LIST and a WATCH per kind, parsed into facts.

pub(crate) mod cache;
pub(crate) mod control_plane_pods;
pub(crate) mod drained_hosts;
pub(crate) mod etcd;
pub(crate) mod health;
pub(crate) mod namespace_limits;
pub(crate) mod observation_store;
pub(crate) mod offers;
pub(crate) mod parse;
pub(crate) mod prerequisites;
pub(crate) mod shared_watches;
pub(crate) mod shoot;
pub(crate) mod static_facts;
pub(crate) mod watch_target;
pub(crate) mod watcher;
