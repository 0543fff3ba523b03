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
    /// Machines whose node is not healthy, and volumes of nodes that are gone.
    Repair,
    /// Schedules that stop and start clusters, and what an interrupted hibernation left open.
    Hibernation,
    /// Backups at the times of their schedules.
    Backups,
    /// Versions of Kubernetes that are updated in maintenance windows.
    Updates,
    /// Clusters whose time to live has ended.
    Expiry,
}

impl Duty {
    pub(crate) const ALL: [Duty; 10] = [
        Duty::Objects,
        Duty::Machines,
        Duty::Certificates,
        Duty::Requests,
        Duty::Drains,
        Duty::Repair,
        Duty::Hibernation,
        Duty::Backups,
        Duty::Updates,
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
            Duty::Backups => "backups",
            Duty::Updates => "updates",
            Duty::Expiry => "expiry",
        }
    }

    /// Description for help: an imperative without a period.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Duty::Objects => "Create missing objects",
            Duty::Machines => "Create missing machines, and replace those of drains and repair",
            Duty::Certificates => "Renew certificates of the control plane",
            Duty::Requests => "Approve certificates of kubelets",
            Duty::Drains => "Replace machines on hosts that are being drained",
            Duty::Repair => {
                "Restart and replace machines whose node is not healthy, and detach volumes of nodes that are gone"
            }
            Duty::Hibernation => "Stop and start clusters by their schedules",
            Duty::Backups => "Back up clusters by their schedules",
            Duty::Updates => "Update Kubernetes and machine images in maintenance windows",
            Duty::Expiry => "Delete expired clusters",
        }
    }

    /// None if there is no duty of that name.
    pub(crate) fn parse(name: &str) -> Option<Duty> {
        Duty::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
