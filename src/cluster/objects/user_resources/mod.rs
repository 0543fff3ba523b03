//! Objects that users create in a shoot, as far as upgrades and hibernation depend on them.

pub(crate) mod definition;
pub(crate) mod disruption_budget;
pub(crate) mod endpoint_slice;
pub(crate) mod label_selector;
pub(crate) mod webhook;
