//! Checks of a provider cluster: versions, feature gates, permissions.

pub(crate) mod check_result;
pub(crate) mod checks;
pub(crate) mod end_of_life;
pub(crate) mod feature_gates;
pub(crate) mod isolation;
pub(crate) mod permissions;
pub(crate) mod pod_network;
pub(crate) mod pod_security;
pub(crate) mod preflight;
pub(crate) mod version;
