//! Backups of shoots: created, listed, verified and pruned.

pub(crate) mod create;
pub(crate) mod cronjob;
pub(crate) mod encryption;
pub(crate) mod list;
pub(crate) mod place;
pub(crate) mod prune;
mod row;
pub(crate) mod verify;
