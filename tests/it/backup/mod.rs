//! Backups: `backup` and `backups`.

mod create;
mod cronjob;
