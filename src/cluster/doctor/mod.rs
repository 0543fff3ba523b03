//! Checks of a provider cluster: versions, feature gates, permissions.

pub(crate) mod checks;
pub(crate) mod feature_gates;
pub(crate) mod finding;
pub(crate) mod permissions;
pub(crate) mod preflight;
pub(crate) mod version;
