//! Rules for the source code that no lint knows.

pub(crate) mod arrows;
pub(crate) mod files;
