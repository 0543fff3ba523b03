//! APIServices.

use super::condition::PartialCondition;
use super::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialApiService {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    status: ApiServiceStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ApiServiceStatus {
    conditions: Vec<PartialCondition>,
}

impl PartialApiService {
    /// Why it is not available; None if it is.
    pub(crate) fn failure(&self) -> Option<&str> {
        match PartialCondition::find(&self.status.conditions, "Available") {
            Some(condition) if condition.is_true() => None,
            Some(condition) => Some(&condition.message),
            None => Some("availability not checked yet"),
        }
    }
}
