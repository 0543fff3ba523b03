//! Backups: `backup` and `backups`.

mod create;
