//! Results of doctor's checks.

use super::permissions::UsedFeatures;
use std::collections::BTreeSet;

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckResult {
    pub(crate) subject: &'static str,
    pub(crate) status: CheckStatus,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckStatus {
    Passed,
    /// Something will not work, or cannot be checked.
    Warning,
    /// No shoot can be created, or not this one.
    Failed,
}

/// Features of the provider cluster that a shoot uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShootRequirements {
    pub(crate) features: UsedFeatures,
    /// Names of StorageClasses; empty for the default class.
    pub(crate) classes: BTreeSet<String>,
    pub(crate) load_balancer: bool,
    /// Ranges that shoots use themselves, by their field: `networking.services` and `networking.pods`.
    pub(crate) ranges: BTreeSet<(&'static str, String)>,
    /// Minor versions of Kubernetes: 34 for 1.34. Empty if no shoot is checked.
    pub(crate) minors: BTreeSet<u64>,
    /// Machines use the pod network of the provider cluster.
    pub(crate) pod_network: bool,
    /// Machines have dedicated CPUs.
    pub(crate) dedicated_cpus: bool,
    /// Resource names of GPUs and other devices of the hosts.
    pub(crate) devices: BTreeSet<String>,
    /// Machines use devices of the hosts that are no GPUs.
    pub(crate) host_devices: bool,
    /// Disks use SCSI persistent reservations.
    pub(crate) reservations: bool,
    /// Machines are restarted when their disks become larger.
    pub(crate) larger_disks: bool,
    /// Machines use instancetypes or preferences.
    pub(crate) instancetypes: bool,
}

pub(crate) fn passed(subject: &'static str, message: impl Into<String>) -> CheckResult {
    CheckResult {
        subject,
        status: CheckStatus::Passed,
        message: message.into(),
        hint: None,
    }
}

pub(crate) fn warning(subject: &'static str, message: impl Into<String>) -> CheckResult {
    CheckResult {
        status: CheckStatus::Warning,
        ..passed(subject, message)
    }
}

pub(crate) fn failed(subject: &'static str, message: impl Into<String>) -> CheckResult {
    CheckResult {
        status: CheckStatus::Failed,
        ..passed(subject, message)
    }
}
