//! Which field of a MachineDeployment each field of its pool comes from.

use crate::model::{FieldPath, Segment};
use crate::validate::report::FieldCursor;

/// Paths below the pool with those of the MachineDeployment.
#[derive(Debug, Default)]
pub(crate) struct FieldMap(Vec<(FieldPath, FieldPath)>);

impl FieldMap {
    /// `to` is written with dots, and numbers for indices.
    pub(crate) fn put(&mut self, to: &str, from: &FieldCursor) {
        let segment = |it: &str| {
            it.parse()
                .map_or_else(|_| Segment::Key(it.to_owned()), Segment::Index)
        };
        self.0
            .push((to.split('.').map(segment).collect(), from.path()));
    }

    /// Where a field of the pool comes from; else where the nearest one above it does.
    pub(crate) fn of(&self, below: &[Segment]) -> FieldPath {
        let above = |to: &FieldPath| below.starts_with(to.segments());
        let known = self.0.iter().filter(|(to, _)| above(to));
        let nearest = known.max_by_key(|(to, _)| to.segments().len());
        let Some((to, from)) = nearest else {
            return FieldPath::root().child("metadata").child("name");
        };
        let rest = &below[to.segments().len()..];
        // Below a list or a mapping that was taken over as it is, both are alike.
        match is_alike(to) {
            true => rest
                .iter()
                .cloned()
                .fold(from.clone(), |it, step| it.with(step)),
            false => from.clone(),
        }
    }
}

fn is_alike(to: &FieldPath) -> bool {
    let last = to.segments().last();
    let whole = [
        "labels",
        "annotations",
        "taints",
        "sshPublicKeys",
        "extraHeaders",
        "dnsConfig",
        "values",
    ];
    matches!(last, Some(Segment::Key(key)) if whole.contains(&key.as_str()))
}
