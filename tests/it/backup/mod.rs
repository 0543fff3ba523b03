//! Backups: `backup`, `backups` and `restore`.

mod create;
mod cronjob;
mod lost;
mod newer;
mod restore;
