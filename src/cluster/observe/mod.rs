//! Observation of one shoot: a LIST and a WATCH per kind, parsed into facts.

pub(crate) mod cache;
pub(crate) mod namespace_limits;
pub(crate) mod observation_store;
pub(crate) mod offers;
pub(crate) mod parse;
pub(crate) mod prerequisites;
pub(crate) mod shoot;
pub(crate) mod watcher;
