//! Servers that answer with too much, too deep, too often, or not at all.

mod answers;
mod backups;
mod consoles;
mod fake_api;
mod scene;
