//! Shoots that can be applied although other manifests have errors.

use super::problem::DUPLICATE;
use crate::manifest::{Content, DocumentId, ENCODING, Manifest, SourceFile};
use crate::validate::{self, ValidShoot};
use std::collections::BTreeSet;

/// Kinds that define parts of Shoots in other files: pools, and credentials.
const PARTS: [&str; 3] = ["MachineDeployment", "Secret", "CredentialsBinding"];

/// Returns the Shoots whose own files have no errors, each given with its document and that of its profile.
///
/// None, if a file with errors may contain parts of other Shoots: a pool that cannot be read would be deleted.
pub(super) fn of(
    manifest: &Manifest,
    valid: &[(ValidShoot, [Option<DocumentId>; 2])],
) -> Vec<ValidShoot> {
    let broken = files_with_errors(manifest);
    let mut sources = broken
        .iter()
        .filter_map(|index| manifest.sources().get(*index));
    let is_unread = manifest.problems().iter().any(|it| it.code == ENCODING);
    if is_unread || sources.any(may_have_parts) {
        return Vec::new();
    }
    let is_broken = |document: &DocumentId| broken.contains(&manifest.source_of(*document));
    valid
        .iter()
        .filter(|(_, documents)| !documents.iter().flatten().any(is_broken))
        .map(|(shoot, _)| shoot.clone())
        .collect()
}

/// Indexes of files with errors. Of two definitions of a Shoot, either may be the wrong one.
fn files_with_errors(manifest: &Manifest) -> BTreeSet<usize> {
    let problems = manifest.problems().iter();
    let spans = problems.flat_map(|it| {
        let related = it.related.iter().map(|it| it.0);
        let other = related.filter(|_| it.code == DUPLICATE);
        it.span.into_iter().chain(other)
    });
    spans.map(|it| it.source as usize).collect()
}

fn may_have_parts(source: &SourceFile) -> bool {
    // In UTF-16, these words are not found.
    source.text.contains('\0') || PARTS.iter().any(|kind| source.text.contains(kind))
}

/// Names of the Shoots that are not among `shoots`, and of the files with errors that have no Shoot.
pub(crate) fn names_of_others(manifest: &Manifest, shoots: &[ValidShoot]) -> Vec<String> {
    let mut named = BTreeSet::new();
    let mut names = Vec::new();
    for (document, content) in manifest.documents() {
        let Content::Shoot(shoot) = content else {
            continue;
        };
        named.insert(manifest.source_of(document));
        let id = validate::id(shoot);
        if shoots.iter().all(|it| it.id != id) {
            names.push(shoot.metadata.name.clone());
        }
    }
    let mut without_shoot = files_with_errors(manifest);
    without_shoot.retain(|it| !named.contains(it));
    let files = without_shoot
        .iter()
        .filter_map(|it| manifest.sources().get(*it));
    names.extend(files.map(|it| it.name.clone()));
    names
}
