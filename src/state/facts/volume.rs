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
}
