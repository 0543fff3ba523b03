//! Maps fields of a pool to the fields of its MachineDeployment.

use crate::model::{FieldPath, Segment};
use crate::validate::report::FieldCursor;

/// Paths below the pool, and the corresponding paths in the MachineDeployment.
#[derive(Debug, Default)]
pub(crate) struct FieldMap(Vec<(FieldPath, FieldPath)>);

impl FieldMap {
    /// Adds a pair; `to` is separated by dots, with numbers as indices.
    pub(crate) fn put(&mut self, to: &str, from: &FieldCursor) {
        let segment = |text: &str| {
            text.parse()
                .map_or_else(|_| Segment::Key(text.to_owned()), Segment::Index)
        };
        self.0
            .push((to.split('.').map(segment).collect(), from.path()));
    }

    /// Returns the field of the MachineDeployment for a field of the pool, or for its nearest known ancestor.
    pub(crate) fn of(&self, below: &[Segment]) -> FieldPath {
        let above = |to: &FieldPath| below.starts_with(to.segments());
        let known = self.0.iter().filter(|(to, _)| above(to));
        let nearest = known.max_by_key(|(to, _)| to.segments().len());
        let Some((to, from)) = nearest else {
            return FieldPath::root().child("metadata").child("name");
        };
        let rest = &below[to.segments().len()..];
        // Lists and mappings that were copied unchanged have the same structure in both.
        match is_copied(to) {
            true => rest
                .iter()
                .cloned()
                .fold(from.clone(), |it, step| it.with(step)),
            false => from.clone(),
        }
    }
}

fn is_copied(to: &FieldPath) -> bool {
    let last = to.segments().last();
    let copied = [
        "labels",
        "annotations",
        "taints",
        "sshPublicKeys",
        "extraHeaders",
        "dnsConfig",
        "values",
    ];
    matches!(last, Some(Segment::Key(key)) if copied.contains(&key.as_str()))
}
