//! Imports of golden volumes.

use std::sync::Arc;

/// Progress of the import of a golden volume.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ImageImport {
    pub(crate) done: bool,
    /// Percentage of the image, 0 to 100. None before the import starts.
    pub(crate) percent: Option<f32>,
    /// Bytes per second between two observations, based on the volume's size.
    pub(crate) speed: Option<u64>,
    /// Reason for waiting, as reported by the importer or the object that blocks it.
    pub(crate) waits: Option<Arc<str>>,
    /// Set if it will not succeed, with the importer's message.
    pub(crate) failed: Option<Arc<str>>,
    pub(crate) volume: GoldenVolume,
}

/// A golden volume. Only displayed: plans do not depend on it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct GoldenVolume {
    /// Technical ID of the shoot that it belongs to.
    pub(crate) shoot: Arc<str>,
    /// Name and version of the image.
    pub(crate) image: Arc<str>,
    /// Phase of the DataVolume.
    pub(crate) phase: Arc<str>,
    /// In bytes.
    pub(crate) size: Option<u64>,
    /// Seconds since 1970.
    pub(crate) created: Option<i64>,
}

impl ImageImport {
    /// Why it is not done, or waits; None while it makes progress.
    pub(crate) fn reason(&self) -> Option<&Arc<str>> {
        self.failed.as_ref().or(self.waits.as_ref())
    }
}
