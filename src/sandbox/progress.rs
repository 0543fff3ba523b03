//! Progress of long commands.

/// A step of a long command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) title: String,
    /// Reported again on each change.
    pub(crate) count: Option<StepCount>,
    /// Stays on the screen while later steps run.
    pub(crate) stays: bool,
}

/// How many of how many are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepCount {
    pub(crate) done: usize,
    pub(crate) total: usize,
    /// Name of the counted things, in the plural.
    pub(crate) unit: &'static str,
}

impl Step {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            count: None,
            stays: false,
        }
    }

    pub(super) fn note(title: impl Into<String>) -> Self {
        Self {
            stays: true,
            ..Self::new(title)
        }
    }

    pub(super) fn counted(self, done: usize, total: usize, unit: &'static str) -> Self {
        Self {
            count: Some(StepCount { done, total, unit }),
            ..self
        }
    }
}
