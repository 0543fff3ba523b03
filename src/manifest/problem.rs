//! What is wrong with a manifest, and where.

use crate::model::FieldPath;
pub(crate) use crate::model::FindingKind;

use super::source::SourceSpan;

/// So many are told of one document; nobody reads more, and a hostile file shall not fill the memory.
pub(super) const MAX_PROBLEMS: usize = 10_000;

/// One thing that is wrong. Reading, checking and the rules all tell this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) path: FieldPath,
    pub(crate) kind: FindingKind,
    /// Stable, for machines: `yaml/tab`, `schema/unknown-key`, `pool/minimum-above-maximum`.
    pub(crate) code: &'static str,
    /// A lower-case fragment, without the path.
    pub(crate) message: String,
    /// What to do about it, as a sentence fragment.
    pub(crate) hint: Option<String>,
    pub(crate) place: Option<SourceSpan>,
    /// Other places that explain it, possibly in another file.
    pub(crate) related: Vec<(SourceSpan, String)>,
}

impl Problem {
    pub(crate) fn new(
        path: FieldPath,
        kind: FindingKind,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            path,
            kind,
            code,
            message: message.into(),
            hint: None,
            place: None,
            related: Vec::new(),
        }
    }

    /// A fault of the YAML itself, which has no path.
    pub(super) fn syntax(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(FieldPath::root(), FindingKind::Syntax, code, message)
    }

    /// A problem of the document, whose path follows or does not matter.
    pub(super) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(FieldPath::root(), FindingKind::Invalid, code, message)
    }

    #[must_use]
    pub(crate) fn at(mut self, place: SourceSpan) -> Self {
        self.place = Some(place);
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }

    #[must_use]
    pub(crate) fn related(mut self, place: SourceSpan, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }
}
