//! Manifests.

pub(super) mod convert;
pub(super) mod explain;
pub(super) mod render;
pub(super) mod validate;
