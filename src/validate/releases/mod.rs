//! Feature gates, admission plugins and API versions of each minor version of Kubernetes.
//!
//! A component exits at start if it is given something that it does not know, so these are errors. The tables are taken
//! from the sources of the first release of each minor version in [`KNOWN_MINORS`].

mod admission_plugins;
mod cloud_controller;
mod feature_gates;
mod minor;
mod runtime_config;

pub(crate) use admission_plugins::check as check_admission_plugin;
pub(crate) use cloud_controller::known_gates as cloud_controller_gates;
pub(crate) use feature_gates::check as check_feature_gates;
pub(crate) use minor::{KNOWN_MINORS, minor};
pub(crate) use runtime_config::check as check_runtime_config;
