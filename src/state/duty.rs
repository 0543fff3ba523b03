//! Duties of `kvshoot keep`.

use std::fmt;

/// Work that a cluster needs over its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Duty {
    /// Objects of the cluster that are missing.
    Objects,
    /// Machines that are missing.
    Machines,
    /// Certificates of the control plane near their end.
    Certificates,
    /// Requests of kubelets for certificates.
    Requests,
    /// Machines on hosts that are being drained.
    Drains,
    /// Machines whose node is not healthy.
    Repair,
    /// Schedules that stop and start clusters, and what an interrupted hibernation left open.
    Hibernation,
    /// Clusters whose time to live has ended.
    Expiry,
}

impl Duty {
    #[cfg(test)]
    pub(crate) const ALL: [Duty; 8] = [
        Duty::Objects,
        Duty::Machines,
        Duty::Certificates,
        Duty::Requests,
        Duty::Drains,
        Duty::Repair,
        Duty::Hibernation,
        Duty::Expiry,
    ];

    /// As in arguments.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Duty::Objects => "objects",
            Duty::Machines => "machines",
            Duty::Certificates => "certificates",
            Duty::Requests => "requests",
            Duty::Drains => "drains",
            Duty::Repair => "repair",
            Duty::Hibernation => "hibernation",
            Duty::Expiry => "expiry",
        }
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
