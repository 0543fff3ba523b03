//! Objects to fetch from the provider cluster before manifests can be validated.

use std::collections::BTreeSet;

use super::machine_deployments;
use crate::manifest::{Content, Manifest};
use crate::model::KeyReference;
use crate::validate;

/// Objects to fetch from the provider cluster before manifests can be validated.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Technical IDs of the Shoots, whose records may exist.
    pub(crate) records: Vec<String>,
    /// Keys of Secrets and ConfigMaps that MachineDeployments refer to, with the technical ID of their Shoot; empty for a
    /// reference that decides which Shoot that is.
    pub(crate) references: BTreeSet<(String, KeyReference)>,
}

/// Returns what judging the manifests depends on.
pub(crate) fn needs(manifest: &Manifest) -> Needs {
    let shoots: Vec<_> = manifest
        .documents()
        .filter_map(|(document, content)| match content {
            Content::Shoot(shoot) => Some((document, shoot.clone())),
            _ => None,
        })
        .collect();
    Needs {
        records: shoots
            .iter()
            .map(|(_, shoot)| validate::id(shoot))
            .collect(),
        references: machine_deployments::references(manifest, &shoots),
    }
}
