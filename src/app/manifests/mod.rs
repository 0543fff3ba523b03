//! Manifests and add-ons: reading, checking, converting and rendering them.

pub(crate) mod addons;
mod addons_checks;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod files;
mod network_manifest;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod validate;
