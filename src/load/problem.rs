//! Findings of the rules as problems of a manifest.

use crate::manifest::Problem;
use crate::model::Finding;

/// Converts a finding, whose path is that in its document.
pub(super) fn problem(finding: Finding) -> Problem {
    Problem::new(finding.path, finding.kind, finding.code, finding.message).hint(finding.hint)
}
