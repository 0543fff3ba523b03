//! Data types of the manifests: plain data, no rules.
//!
//! A field without `Option` and without `default` is required; `length(min = 1)` means that an empty value counts as absent.
//! The doc comment of a field is its description in the schema and in `kvshoot explain`.

mod field;
mod finding;
mod gardener;
mod kubermatic;
mod kubevirt;
mod scalar;
mod suggest;

pub(crate) use field::{FieldPath, Segment};
pub(crate) use finding::{DocumentKind, Finding, FindingKind};
// Other modules use the short names until they are renamed.
pub(crate) use finding::{DocumentKind as Document, FindingKind as Kind};
pub(crate) use gardener::*;
pub(crate) use kubermatic::*;
pub(crate) use kubermatic::{
    ConfigVarValue as Counts, KeyReference as Reference, ReferenceKind as Holder,
};
pub(crate) use kubevirt::NodeLabelPreset as NodePreset;
pub(crate) use kubevirt::*;
pub(crate) use scalar::{Amount, Cidr, Duration, FORMATS, IntOrString, Quantity, Version};
pub(crate) use suggest::nearest;

/// The API of volume snapshots (kubernetes-csi's `external-snapshotter`), as YAML documents.
pub(crate) const VOLUME_SNAPSHOTS: &str = include_str!("volume-snapshots.yaml");
