//! Backing up clusters.

mod arguments;
pub(super) mod backups;
pub(super) mod create;
pub(super) mod restore;
