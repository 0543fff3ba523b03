//! Support bundles: an archive of what a maintainer needs to diagnose a shoot.

mod archive;
pub(crate) mod collect;
mod readme;
mod summary;
