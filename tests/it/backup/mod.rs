//! Backups: `backup`, `backups` and `restore`.

mod create;
mod cronjob;
mod restore;
