//! Conditions in the status of objects.

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

    /// None if it is empty.
    pub(crate) fn message(&self) -> Option<&str> {
        Some(self.message.as_str()).filter(|it| !it.is_empty())
    }
}
