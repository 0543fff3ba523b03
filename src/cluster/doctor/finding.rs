//! What doctor reports of one subject.

use std::collections::BTreeSet;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) subject: &'static str,
    pub(crate) grade: Grade,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grade {
    Fine,
    /// Something will not work, or cannot be told.
    Warning,
    /// No shoot can be made, or not this one.
    Failure,
}

/// What a shoot uses of its provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uses {
    pub(crate) networks: bool,
    /// StorageClasses by name; empty for the default one.
    pub(crate) classes: BTreeSet<String>,
    pub(crate) load_balancer: bool,
    /// Machines stand in the network of the provider's pods.
    pub(crate) pod_network: bool,
    /// Machines have CPUs to themselves.
    pub(crate) whole_cpus: bool,
    /// Disks are kept to one machine by SCSI reservations.
    pub(crate) reservations: bool,
    /// Machines have instancetypes or preferences.
    pub(crate) types: bool,
}

pub(crate) fn fine(subject: &'static str, message: impl Into<String>) -> Finding {
    Finding {
        subject,
        grade: Grade::Fine,
        message: message.into(),
        hint: None,
    }
}

pub(crate) fn warning(subject: &'static str, message: impl Into<String>) -> Finding {
    Finding {
        grade: Grade::Warning,
        ..fine(subject, message)
    }
}

pub(crate) fn failure(subject: &'static str, message: impl Into<String>) -> Finding {
    Finding {
        grade: Grade::Failure,
        ..fine(subject, message)
    }
}
