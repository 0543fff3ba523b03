//! Actions on machines that exist: emptying, halting, starting, growing, migrating and repairing them.

mod disks;
mod drain;
mod halt;
mod migrate;
pub(crate) mod migrations;
mod repair;
