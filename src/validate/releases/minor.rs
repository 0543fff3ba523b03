//! Minor versions of Kubernetes.

use std::ops::RangeInclusive;

use crate::model::Version;

/// Minor versions of Kubernetes that kvshoot supports.
pub(crate) const KNOWN_MINORS: RangeInclusive<u64> = 31..=37;

/// Minor version of Kubernetes 1 in a text; None for versions without tables, which are reported elsewhere.
pub(crate) fn minor(version: &str) -> Option<u64> {
    let (major, minor) = Version::parse(version)?.minor();
    (major == 1 && KNOWN_MINORS.contains(&minor)).then_some(minor)
}

/// Minor versions in a hint: "1.33" or "1.31 to 1.33".
pub(super) fn range(first: u64, last: u64) -> String {
    match first == last {
        true => format!("1.{first}"),
        false => format!("1.{first} to 1.{last}"),
    }
}
