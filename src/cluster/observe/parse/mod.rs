//! Parsing of API objects into facts; each from one object alone.

pub(crate) mod deletion;
pub(crate) mod object;
pub(crate) mod types;
pub(crate) mod user_resources;
pub(crate) mod workload;
