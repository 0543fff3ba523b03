//! Help, completions and the version.

pub(super) mod completions;
pub(super) mod help;
pub(super) mod version;
