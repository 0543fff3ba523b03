//! What each minor version of Kubernetes knows: feature gates, admission plugins and API versions.
//!
//! A component that is given something it does not know exits at start, so these are errors. The tables are taken from
//! the sources of the first release of each minor version in [`KNOWN_MINORS`](super::KNOWN_MINORS).

mod admission_plugins;
mod cloud_controller;
mod feature_gates;
mod runtime_config;

pub(crate) use admission_plugins::check as check_admission_plugin;
pub(crate) use cloud_controller::known_gates as cloud_controller_gates;
pub(crate) use feature_gates::check as check_feature_gates;
pub(crate) use runtime_config::check as check_runtime_config;

use crate::model::Version;

/// Minor version of Kubernetes 1 in a text; None for versions without tables, which are reported elsewhere.
pub(crate) fn minor(version: &str) -> Option<u64> {
    let (major, minor) = Version::parse(version)?.minor();
    (major == 1 && super::KNOWN_MINORS.contains(&minor)).then_some(minor)
}

/// Minor versions in a hint: "1.33" or "1.31 to 1.33".
fn range(first: u64, last: u64) -> String {
    match first == last {
        true => format!("1.{first}"),
        false => format!("1.{first} to 1.{last}"),
    }
}
