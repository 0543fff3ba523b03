//! What people write: plain data, no rules.
//!
//! A field without `Option` and without `default` is required; `length(min = 1)` says that empty counts as absent.
//! The doc comment of a field is its description in the schema and in `kvshoot explain`.

mod cidr;
mod cloud_profile;
mod config_var;
mod field;
mod finding;
mod kubermatic;
mod kubernetes;
mod kubevirt;
mod machine_template;
mod nearest;
mod network_policy;
mod scalar;
mod secret;
mod shoot;
mod version;

pub(crate) use cidr::Cidr;
pub(crate) use cloud_profile::*;
pub(crate) use config_var::*;
pub(crate) use field::{FieldPath, Segment};
pub(crate) use finding::{Document, Finding, Kind};
pub(crate) use kubermatic::*;
pub(crate) use kubernetes::*;
pub(crate) use kubevirt::*;
pub(crate) use machine_template::*;
pub(crate) use nearest::nearest;
pub(crate) use network_policy::*;
use scalar::one_of;
pub(crate) use scalar::{Amount, Duration, FORMATS, Ignored, IntOrString, Quantity, Unused};
pub(crate) use secret::*;
pub(crate) use shoot::*;
pub(crate) use version::Version;

/// The API of volume snapshots (kubernetes-csi's `external-snapshotter`), as YAML documents.
pub(crate) const VOLUME_SNAPSHOTS: &str = include_str!("volume-snapshots.yaml");
