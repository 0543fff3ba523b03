//! Problems of a manifest and their spans.

use crate::model::FieldPath;
pub(crate) use crate::model::FindingKind;

use super::source::FileSpan;

/// Maximum number of problems of a document, which bounds the memory that a hostile file can use.
pub(super) const MAX_PROBLEMS: usize = 10_000;

/// A problem found by parsing, checking or the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) path: FieldPath,
    pub(crate) kind: FindingKind,
    /// Stable identifier for programs: `yaml/tab`, `schema/unknown-key`, `pool/minimum-above-maximum`.
    pub(crate) code: &'static str,
    /// Lower-case clause without the path.
    pub(crate) message: String,
    /// Lower-case clause that says how to fix it.
    pub(crate) hint: Option<String>,
    pub(crate) span: Option<FileSpan>,
    /// Related spans with labels, possibly in another file.
    pub(crate) related: Vec<(FileSpan, String)>,
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
            span: None,
            related: Vec::new(),
        }
    }

    /// A syntax error, which has no path.
    pub(super) fn syntax(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(FieldPath::root(), FindingKind::Syntax, code, message)
    }

    /// The end of a list that reached [`MAX_PROBLEMS`]: the number of other problems.
    pub(super) fn omitted(count: usize) -> Option<Self> {
        let message = format!("{count} more problems are not listed");
        let problem = Self::new(
            FieldPath::root(),
            FindingKind::Invalid,
            "manifest/more-problems",
            message,
        );
        (count > 0).then(|| problem.hint(Some("fix these first; they may have one cause")))
    }

    /// An invalid value; the caller sets the path.
    pub(super) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(FieldPath::root(), FindingKind::Invalid, code, message)
    }

    #[must_use]
    pub(crate) fn at(mut self, place: FileSpan) -> Self {
        self.span = Some(place);
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }

    #[must_use]
    pub(crate) fn related(mut self, place: FileSpan, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }
}
