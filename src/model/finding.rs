//! Findings of the validation rules.

use super::FieldPath;

/// Error types of Kubernetes' `field.Error`, and two more for YAML: `Syntax` and `Unknown`.
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

/// Kind of the document that a finding belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DocumentKind {
    Shoot,
    CloudProfile,
    MachineDeployment,
}

/// A violation of a rule, with the path of the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) document: DocumentKind,
    pub(crate) path: FieldPath,
    pub(crate) kind: FindingKind,
    /// Stable identifier for programs, such as `pool/minimum-above-maximum`.
    pub(crate) code: &'static str,
    /// Lower-case clause without the path.
    pub(crate) message: String,
    /// Lower-case clause that says how to fix it.
    pub(crate) hint: Option<String>,
    /// Related field with a label, possibly in the other document.
    pub(crate) see: Option<(DocumentKind, FieldPath, String)>,
    /// True if the key of the field is wrong, not its value.
    pub(crate) is_key: bool,
    /// Line and column (from 1) in the value of the field, for example of an error in a CNI configuration.
    pub(crate) inside: Option<(usize, usize)>,
}
