//! Findings of the rules, placed in the documents that they come from.

use std::collections::HashSet;

use super::machine_deployments::Pools;
use super::problem::problem;
use crate::manifest::{DocumentId, Manifest};
use crate::model::{DocumentKind, FieldPath};
use crate::validate::{self, ValidShoot, ValidationOutcome};

/// Findings that were reported: document, path and code.
pub(super) type Reported = HashSet<(DocumentId, String, &'static str)>;

/// The documents that are judged together. A profile from a record has none.
#[derive(Default)]
pub(super) struct Documents<'a> {
    pub(super) shoot: Option<DocumentId>,
    pub(super) profile: Option<DocumentId>,
    pub(super) pools: Option<&'a Pools>,
}

impl Documents<'_> {
    fn locate(&self, document: DocumentKind, path: &FieldPath) -> Option<(DocumentId, FieldPath)> {
        let own = match document {
            DocumentKind::Shoot => self.shoot,
            DocumentKind::CloudProfile => self.profile,
            // Pools know the documents that they were converted from.
            DocumentKind::MachineDeployment => None,
        };
        let origin = match document {
            DocumentKind::Shoot => self.pools.and_then(|pools| pools.origin(path)),
            _ => None,
        };
        origin.or_else(|| Some((own?, path.clone())))
    }
}

/// Adds findings to the manifest, each at its place, and returns the Shoot when it is valid.
///
/// Several Shoots may share a profile, whose findings are reported once.
pub(super) fn report_all(
    manifest: &mut Manifest,
    documents: &Documents,
    verdict: ValidationOutcome,
    reported: &mut Reported,
) -> Option<ValidShoot> {
    let errors = verdict.errors.into_iter().map(|it| (it, false));
    let warnings = verdict.warnings.into_iter().map(|it| (it, true));
    for (mut finding, is_warning) in errors.chain(warnings) {
        let Some((document, path)) = documents.locate(finding.document, &finding.path) else {
            // A profile from a record has no text.
            manifest.report_without_span(problem(finding), is_warning);
            continue;
        };
        // Several fields of a pool may come from one field of a MachineDeployment.
        let is_own = Some(document) == documents.shoot;
        let is_new = is_own || reported.insert((document, path.to_string(), finding.code));
        let is_settled = || {
            documents
                .pools
                .is_some_and(|pools| pools.is_settled(&finding))
        };
        if !is_new
            || is_settled()
            || depends_on_unreadable_field(manifest, documents.profile, finding.code)
            || follows_from_other_problem(manifest, finding.code)
        {
            continue;
        }
        finding.path = path;
        if let Some(pools) = documents.pools {
            pools.mask(document, &mut finding);
        }
        let (position, is_key) = (finding.inside, finding.is_key);
        let see = finding.see.clone();
        let mut problem = problem(finding);
        if let Some((line, column)) = position {
            problem.span = manifest.locate_inside(document, &problem.path, line, column);
        }
        if is_key {
            problem.span = manifest.locate_key(document, &problem.path);
        }
        if let Some((other, path, label)) = see
            && let Some((other, path)) = documents.locate(other, &path)
        {
            // The field that the finding refers to is broken itself, and was reported.
            let Some(place) = manifest.locate(other, &path) else {
                continue;
            };
            problem = problem.related(place, label);
        }
        if is_warning {
            manifest.warn(document, problem);
        } else {
            manifest.report(document, problem);
        }
    }
    verdict.shoot
}

/// A field that cannot be read, in any document, may keep a Shoot from being resolved. Alone, this is a bug of kvshoot.
fn follows_from_other_problem(manifest: &Manifest, code: &str) -> bool {
    code == validate::UNRESOLVED && !manifest.problems().is_empty()
}

/// A field of the profile that cannot be read offers nothing, and was reported.
fn depends_on_unreadable_field(
    manifest: &Manifest,
    profile: Option<DocumentId>,
    code: &str,
) -> bool {
    let (Some(profile), Some(field)) = (profile, validate::read_from(code)) else {
        return false;
    };
    let path = FieldPath::root().child("spec").child(field);
    manifest.locate(profile, &path).is_none()
}
