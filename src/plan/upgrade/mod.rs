//! Upgrades of Kubernetes: the versions that are allowed next, the Shoot of the new version, and the checks before it is
//! applied.

mod budgets;
mod change;
mod finding;
mod preflight;
mod versions;

pub(crate) use change::{followers, upgraded};
pub(crate) use finding::UpgradeFinding;
pub(crate) use preflight::{Preflight, findings};
pub(crate) use versions::{OfferedVersion, UpgradeStep, VersionRefusal, newest, offered, target};
