//! Backups: `backup`, `backups` and `restore`.

mod create;
mod restore;
