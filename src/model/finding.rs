//! What a rule found wrong: data that reading, checking and judging share.

use super::FieldPath;

/// The words of Kubernetes' `field.Error`, and two more for texts: `Syntax` and `Unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub(crate) enum FindingKind {
    Syntax,
    Duplicate,
    Unknown,
    Invalid,
    Required,
    NotSupported,
    Forbidden,
    TooLong,
}

/// Which of the documents that are judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DocumentKind {
    Shoot,
    CloudProfile,
    MachineDeployment,
}

/// One broken rule, by the path of the field that breaks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) document: DocumentKind,
    pub(crate) path: FieldPath,
    pub(crate) kind: FindingKind,
    /// Stable, for machines: `pool/minimum-above-maximum`.
    pub(crate) code: &'static str,
    /// A lower-case fragment, without the path.
    pub(crate) message: String,
    /// What to do about it, as a sentence fragment.
    pub(crate) hint: Option<String>,
    /// Another field that explains it, with a label; it may stand in the other document.
    pub(crate) see: Option<(DocumentKind, FieldPath, String)>,
    /// Line and column (from 1) inside the text of the field, such as of an error in a CNI configuration.
    pub(crate) inside: Option<(usize, usize)>,
}
