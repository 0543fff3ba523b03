//! Servers that answer with too much, too deep, too often, or not at all, and manifests of that kind.

mod answers;
mod backups;
mod consoles;
mod fake_api;
mod manifests;
mod scene;
