//! PodDisruptionBudgets.

use super::label_selector::PartialLabelSelector;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialDisruptionBudget {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: DisruptionBudgetSpec,
    #[serde(default)]
    pub(crate) status: DisruptionBudgetStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DisruptionBudgetSpec {
    /// None selects no pods.
    pub(crate) selector: Option<PartialLabelSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DisruptionBudgetStatus {
    pub(crate) disruptions_allowed: i64,
    pub(crate) desired_healthy: i64,
    pub(crate) expected_pods: i64,
}
