//! Findings of the rules as problems of a manifest.

use crate::manifest::Problem;
use crate::model::Finding;

/// Code of problems with two definitions of the same name.
pub(super) const DUPLICATE: &str = "manifest/duplicate";

/// Converts a finding, whose path is that in its document.
pub(super) fn problem(finding: Finding) -> Problem {
    Problem::new(finding.path, finding.kind, finding.code, finding.message).hint(finding.hint)
}
