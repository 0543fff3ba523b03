//! Versions that a CloudProfile offers, as steps from the current one.

use crate::model::{CloudProfile, Version};
use crate::validate::{KNOWN_MINORS, is_expired, is_preview};
use jiff::Timestamp;
use std::fmt;

/// A version in a CloudProfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfferedVersion {
    /// Full version, such as 1.34.2.
    pub(crate) version: String,
    /// preview, supported or deprecated.
    pub(crate) classification: Option<String>,
    /// RFC 3339.
    pub(crate) expires: Option<String>,
    pub(crate) step: UpgradeStep,
}

/// The way from the current version to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpgradeStep {
    /// The version of the control plane.
    Current,
    /// A newer patch of the current minor version.
    Patch,
    /// A patch of the next minor version.
    NextMinor,
    /// It is further than the next minor version.
    Later,
    /// It can no longer be chosen.
    Expired,
    /// kvshoot does not know its minor version.
    Unsupported,
}

/// Why a version cannot be upgraded to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionRefusal {
    NotOffered { wanted: String },
    Lower { wanted: String, current: String },
    Skips { wanted: String, current: String },
    Expired { wanted: String },
    Unsupported { wanted: String },
}

/// The current version and all newer ones, in order.
pub(crate) fn offered(
    profile: &CloudProfile,
    current: &str,
    now: Timestamp,
) -> Vec<OfferedVersion> {
    let Some(base) = Version::parse(current) else {
        return Vec::new();
    };
    let all = profile.spec.kubernetes.versions.iter();
    let known = all.filter_map(|it| Some((Version::parse(&it.version)?, it)));
    let mut newer: Vec<_> = known.filter(|it| it.0 >= base).collect();
    newer.sort_by(|one, other| one.0.cmp(&other.0));
    newer.dedup_by(|one, other| one.0 == other.0);
    let offered = newer.into_iter().map(|(version, it)| OfferedVersion {
        version: it.version.clone(),
        classification: it.classification.clone(),
        expires: it.expiration_date.clone(),
        step: match is_expired(it.expiration_date.as_deref(), now) {
            _ if version == base => UpgradeStep::Current,
            true => UpgradeStep::Expired,
            false => step(&base, &version),
        },
    });
    offered.collect()
}

fn step(base: &Version, version: &Version) -> UpgradeStep {
    let ((old_major, old), (major, minor)) = (base.minor(), version.minor());
    match minor.checked_sub(old) {
        _ if major != 1 || !KNOWN_MINORS.contains(&minor) => UpgradeStep::Unsupported,
        Some(0) if major == old_major => UpgradeStep::Patch,
        Some(1) if major == old_major => UpgradeStep::NextMinor,
        _ => UpgradeStep::Later,
    }
}

/// The newest version of a step; previews are not chosen for users.
pub(crate) fn newest(offered: &[OfferedVersion], step: UpgradeStep) -> Option<&OfferedVersion> {
    let of_step = offered.iter().filter(|it| it.step == step);
    let mut released = of_step.filter(|it| !is_preview(it.classification.as_deref()));
    released.next_back()
}

/// The full version to upgrade to. `wanted` is a full version, or a minor version for its newest patch; None for the
/// newest patch of the current minor version.
///
/// # Errors
///
/// The version is not offered, lower than the current one, or more than a minor version away.
pub(crate) fn target(
    offered: &[OfferedVersion],
    current: &str,
    wanted: Option<&str>,
) -> Result<String, VersionRefusal> {
    let of_current = || {
        let newer = newest(offered, UpgradeStep::Patch);
        newer.map_or_else(|| current.to_owned(), |it| it.version.clone())
    };
    let Some(wanted) = wanted else {
        return Ok(of_current());
    };
    let not_offered = || VersionRefusal::NotOffered {
        wanted: wanted.to_owned(),
    };
    let parts = wanted.split('.').count();
    let (base, version) = Version::parse(current)
        .zip(Version::parse(wanted))
        .filter(|_| (2..=3).contains(&parts))
        .ok_or_else(not_offered)?;
    let is_minor = parts == 2;
    let is_lower = match is_minor {
        true => version.minor() < base.minor(),
        false => version < base,
    };
    if is_lower {
        let (wanted, current) = (wanted.to_owned(), current.to_owned());
        return Err(VersionRefusal::Lower { wanted, current });
    }
    if is_minor && version.minor() == base.minor() {
        return Ok(of_current());
    }
    if !is_minor && version == base {
        return Ok(current.to_owned());
    }
    let is_wanted = |it: &&OfferedVersion| match Version::parse(&it.version) {
        Some(other) if is_minor => other.minor() == version.minor(),
        other => other.as_ref() == Some(&version),
    };
    let matching: Vec<OfferedVersion> = offered.iter().filter(is_wanted).cloned().collect();
    let last = matching.last().ok_or_else(not_offered)?;
    let wanted = wanted.to_owned();
    let reachable = |step| match is_minor {
        true => newest(&matching, step),
        false => matching.iter().find(|it| it.step == step),
    };
    let steps = [UpgradeStep::Patch, UpgradeStep::NextMinor];
    if let Some(found) = steps.into_iter().find_map(reachable) {
        return Ok(found.version.clone());
    }
    Err(match last.step {
        UpgradeStep::Later => VersionRefusal::Skips {
            wanted,
            current: current.to_owned(),
        },
        UpgradeStep::Expired => VersionRefusal::Expired { wanted },
        UpgradeStep::Unsupported => VersionRefusal::Unsupported { wanted },
        _ => VersionRefusal::NotOffered { wanted },
    })
}

impl fmt::Display for VersionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VersionRefusal::NotOffered { wanted } => {
                write!(f, "Kubernetes version {wanted:?} is not offered")
            }
            VersionRefusal::Lower { wanted, current } => write!(
                f,
                "Kubernetes cannot be downgraded from {current} to {wanted}"
            ),
            VersionRefusal::Skips { wanted, current } => write!(
                f,
                "minor versions between {current} and {wanted} cannot be skipped"
            ),
            VersionRefusal::Expired { wanted } => {
                write!(f, "Kubernetes version {wanted} has expired")
            }
            VersionRefusal::Unsupported { wanted } => {
                write!(f, "kvshoot does not support Kubernetes {wanted}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::read_yaml;
    use crate::validate::testing::valid_for_tests;

    const VERSIONS: &str = "
- version: 1.32.9
- version: 1.33.5
  expirationDate: 2026-12-31T00:00:00Z
- version: 1.33.6
- version: 1.33.7
- version: 1.33.8
  classification: preview
- version: 1.34.0
  expirationDate: 2025-01-01T00:00:00Z
- version: 1.34.2
- version: 1.34.1
- version: 1.35.0
- version: 1.99.0
";

    fn versions(current: &str) -> Vec<OfferedVersion> {
        let mut profile = valid_for_tests(crate::validate::testing::SHOOT).profile;
        profile.spec.kubernetes.versions = read_yaml(VERSIONS).expect("versions");
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        offered(&profile, current, now)
    }

    fn chosen(current: &str, wanted: &str) -> Result<String, String> {
        let wanted = Some(wanted).filter(|it| !it.is_empty());
        target(&versions(current), current, wanted).map_err(|it| it.to_string())
    }

    #[test]
    fn each_newer_version_is_a_step_from_the_current_one() {
        let all = versions("1.33.5");
        let steps: Vec<_> = all.iter().map(|it| (&*it.version, it.step)).collect();
        assert_eq!(
            steps,
            [
                ("1.33.5", UpgradeStep::Current),
                ("1.33.6", UpgradeStep::Patch),
                ("1.33.7", UpgradeStep::Patch),
                ("1.33.8", UpgradeStep::Patch),
                ("1.34.0", UpgradeStep::Expired),
                ("1.34.1", UpgradeStep::NextMinor),
                ("1.34.2", UpgradeStep::NextMinor),
                ("1.35.0", UpgradeStep::Later),
                ("1.99.0", UpgradeStep::Unsupported),
            ]
        );
        assert_eq!(all[0].expires.as_deref(), Some("2026-12-31T00:00:00Z"));
    }

    #[test]
    fn the_newest_released_patch_is_chosen_and_no_minor_version_without_being_asked() {
        assert_eq!(chosen("1.33.5", "").as_deref(), Ok("1.33.7"));
        assert_eq!(chosen("1.33.7", "").as_deref(), Ok("1.33.7"));
        assert_eq!(chosen("1.33.5", "1.33").as_deref(), Ok("1.33.7"));
        assert_eq!(chosen("1.33.5", "1.33.8").as_deref(), Ok("1.33.8"));
        assert_eq!(chosen("1.33.5", "1.34").as_deref(), Ok("1.34.2"));
        assert_eq!(chosen("1.33.5", "1.34.1").as_deref(), Ok("1.34.1"));
        // A profile need not have the current version.
        assert_eq!(chosen("1.34.5", "1.35").as_deref(), Ok("1.35.0"));
        assert_eq!(chosen("1.34.5", "1.34.5").as_deref(), Ok("1.34.5"));
    }

    #[test]
    fn other_versions_are_refused_with_the_reason() {
        let refusal = |current, wanted| chosen(current, wanted).expect_err("it is refused");
        assert_eq!(
            refusal("1.33.5", "1.35"),
            "minor versions between 1.33.5 and 1.35 cannot be skipped"
        );
        assert_eq!(
            refusal("1.33.5", "1.32"),
            "Kubernetes cannot be downgraded from 1.33.5 to 1.32"
        );
        assert_eq!(
            refusal("1.33.6", "1.33.5"),
            "Kubernetes cannot be downgraded from 1.33.6 to 1.33.5"
        );
        assert_eq!(
            refusal("1.33.5", "1.34.0"),
            "Kubernetes version 1.34.0 has expired"
        );
        assert_eq!(
            refusal("1.33.5", "1.99"),
            "kvshoot does not support Kubernetes 1.99"
        );
        for wanted in ["1.34.9", "1", "1.34.2.1", "v", "latest", "-1.34"] {
            assert_eq!(
                refusal("1.33.5", wanted),
                format!("Kubernetes version {wanted:?} is not offered")
            );
        }
    }
}
