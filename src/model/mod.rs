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
mod yaml;

pub(crate) use field::{FieldPath, Segment};
pub(crate) use finding::{DocumentKind, Finding, FindingKind};
pub(crate) use gardener::*;
pub(crate) use kubermatic::*;
pub(crate) use kubevirt::*;
pub(crate) use scalar::{
    Amount, Cidr, Cron, Duration, FORMATS, IntOrString, Quantity, Version, VersionConstraint,
};
pub(crate) use suggest::suggest;
pub(crate) use yaml::{YamlError, read_yaml};

/// The API of volume snapshots (kubernetes-csi's `external-snapshotter`), as YAML documents.
pub(crate) const VOLUME_SNAPSHOTS: &str = include_str!("volume-snapshots.yaml");
