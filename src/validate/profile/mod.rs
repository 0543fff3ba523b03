//! The rules and the index of a CloudProfile.

pub(crate) mod component_images;
mod downloads;
pub(super) mod index;
mod kept;
mod machine_network;
pub(super) mod network_manifests;
mod provider_config;
mod spec;
mod storage_classes;

pub(super) use downloads::check_pools as check_downloads;
pub(super) use kept::with_items_in_use;

use super::report::{FieldCursor, FindingSink};
use crate::model::CloudProfile;

pub(super) fn check(profile: &CloudProfile, at: &FieldCursor, report: &mut FindingSink) {
    spec::check(profile, at, report);
    provider_config::check(profile, at, report);
}
