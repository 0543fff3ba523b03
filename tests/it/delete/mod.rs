//! Deletion, expiry and garbage collection.

pub(crate) mod cronjob;
mod deletion;
mod expiry;
pub(crate) mod user_resources;
