//! Checks before an upgrade.

/// A check before an upgrade. Users name those that are to be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UpgradeCheck {
    ControlPlane,
    RemovedApi,
    StoredVersion,
    ApiService,
    Webhook,
    DisruptionBudget,
    NodeNotReady,
    KubeletSkew,
    Quota,
}

impl UpgradeCheck {
    pub(crate) const ALL: [UpgradeCheck; 9] = [
        UpgradeCheck::ControlPlane,
        UpgradeCheck::RemovedApi,
        UpgradeCheck::StoredVersion,
        UpgradeCheck::ApiService,
        UpgradeCheck::Webhook,
        UpgradeCheck::DisruptionBudget,
        UpgradeCheck::NodeNotReady,
        UpgradeCheck::KubeletSkew,
        UpgradeCheck::Quota,
    ];

    /// The name on the command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            UpgradeCheck::ControlPlane => "control-plane",
            UpgradeCheck::RemovedApi => "removed-api",
            UpgradeCheck::StoredVersion => "stored-version",
            UpgradeCheck::ApiService => "api-service",
            UpgradeCheck::Webhook => "webhook",
            UpgradeCheck::DisruptionBudget => "disruption-budget",
            UpgradeCheck::NodeNotReady => "node-not-ready",
            UpgradeCheck::KubeletSkew => "kubelet-skew",
            UpgradeCheck::Quota => "quota",
        }
    }

    /// Description of its findings, for help.
    pub(crate) fn about(self) -> &'static str {
        match self {
            UpgradeCheck::ControlPlane => "The control plane is not ready",
            UpgradeCheck::RemovedApi => "An API that the new version does not have is in use",
            UpgradeCheck::StoredVersion => "Objects are stored in a version that is not served",
            UpgradeCheck::ApiService => "An APIService is not available",
            UpgradeCheck::Webhook => "A webhook that must answer has no ready endpoint",
            UpgradeCheck::DisruptionBudget => {
                "A PodDisruptionBudget keeps a node from being drained"
            }
            UpgradeCheck::NodeNotReady => "A node is not ready",
            UpgradeCheck::KubeletSkew => "A kubelet is too old for the new control plane",
            UpgradeCheck::Quota => "A quota leaves no room for the machines of the rolling update",
        }
    }
}
