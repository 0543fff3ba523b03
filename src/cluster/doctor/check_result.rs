//! What doctor reports of one subject.

use std::collections::BTreeSet;

/// One thing that was looked at.
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
    /// Something will not work, or cannot be told.
    Warning,
    /// No shoot can be made, or not this one.
    Failed,
}

/// What a shoot uses of its provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShootRequirements {
    pub(crate) networks: bool,
    /// StorageClasses by name; empty for the default one.
    pub(crate) classes: BTreeSet<String>,
    pub(crate) load_balancer: bool,
    /// Machines stand in the network of the provider's pods.
    pub(crate) pod_network: bool,
    /// Machines have CPUs to themselves.
    pub(crate) dedicated_cpus: bool,
    /// Disks are kept to one machine by SCSI reservations.
    pub(crate) reservations: bool,
    /// Machines have instancetypes or preferences.
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
