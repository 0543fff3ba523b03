//! Conditions in the status of objects.

use super::metadata::seconds;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// True, False or Unknown.
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default, rename = "lastTransitionTime")]
    last_transition_time: Option<String>,
}

impl PartialCondition {
    pub(crate) fn find<'a>(
        all: &'a [PartialCondition],
        kind: &str,
    ) -> Option<&'a PartialCondition> {
        all.iter().find(|it| it.kind == kind)
    }

    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(crate) fn is_false(&self) -> bool {
        self.status == "False"
    }

    /// When it got its status, in seconds since 1970.
    pub(crate) fn since(&self) -> Option<i64> {
        seconds(self.last_transition_time.as_deref()?)
    }

    /// None if it is empty.
    pub(crate) fn message(&self) -> Option<&str> {
        Some(self.message.as_str()).filter(|it| !it.is_empty())
    }
}
