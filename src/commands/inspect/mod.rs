//! Looking at clusters.

pub(super) mod bundle;
pub(super) mod conformance;
pub(super) mod events;
pub(super) mod get;
pub(super) mod images;
pub(super) mod list;
pub(super) mod nodes;
pub(super) mod pools;
pub(super) mod status;
pub(super) mod wait;
pub(super) mod why;
