//! Facts about objects in a shoot.

/// Facts that the preflight of an upgrade reads in a shoot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UpgradeFacts {
    pub(crate) requested_apis: Vec<RequestedApi>,
    pub(crate) stored_versions: Vec<StoredVersion>,
    /// Names and reasons of APIServices that are not available.
    pub(crate) unavailable_services: Vec<(String, String)>,
    pub(crate) webhooks: Vec<ObservedWebhook>,
    pub(crate) budgets: Vec<ObservedBudget>,
}

/// A deprecated API that was requested since an API server started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestedApi {
    /// `resource.version.group`, as kubectl names it.
    pub(crate) name: String,
    /// The minor version without it, such as 1.36; empty if none is planned.
    pub(crate) removed_release: String,
}

/// A version in which a CustomResourceDefinition has stored objects, and which it does not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    /// Name of the CustomResourceDefinition.
    pub(crate) definition: String,
    pub(crate) version: String,
}

/// A webhook whose failure rejects requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedWebhook {
    /// Kind and name of the configuration.
    pub(crate) configuration: String,
    pub(crate) name: String,
    /// `namespace/name` of its Service; None for a URL.
    pub(crate) service: Option<String>,
    /// It has an endpoint that is ready. True for a URL, which is not tried.
    pub(crate) has_endpoint: bool,
    /// It sees requests that the control plane and nodes need, such as those for pods of kube-system.
    pub(crate) is_vital: bool,
}

/// A PodDisruptionBudget with the pods that it selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObservedBudget {
    /// `namespace/name`
    pub(crate) name: String,
    /// Number of pods that its controllers want.
    pub(crate) expected: i64,
    /// Number of healthy pods that it demands.
    pub(crate) desired: i64,
    /// Number of evictions that it allows now.
    pub(crate) allowed: i64,
    pub(crate) pods: Vec<BudgetPod>,
}

/// A pod that a budget protects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BudgetPod {
    /// `namespace/name`
    pub(crate) name: String,
    /// Its node; empty until it is scheduled.
    pub(crate) node: String,
}
