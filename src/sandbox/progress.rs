//! Progress of long commands.

/// A step of a long command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) title: String,
    /// How many of how many are done; reported again on each change.
    pub(crate) count: Option<(usize, usize)>,
    /// Stays on the screen while later steps run.
    pub(crate) stays: bool,
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

    pub(super) fn counted(self, done: usize, total: usize) -> Self {
        Self {
            count: Some((done, total)),
            ..self
        }
    }
}
