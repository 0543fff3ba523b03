//! Objects of the core group.

pub(crate) mod config_map;
pub(crate) mod event;
pub(crate) mod limits;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod secret;
pub(crate) mod service;
