//! Imports of golden volumes.

use std::sync::Arc;

/// How far the import of a golden volume is.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Import {
    pub(crate) done: bool,
    /// Of the image, 0 to 100; None before it begins.
    pub(crate) percent: Option<f32>,
    /// Bytes in a second, by the volume's size: what passed between two looks.
    pub(crate) speed: Option<u64>,
    /// What it waits for, in the words of the importer or of the deepest object that blocks it.
    pub(crate) waits: Option<Arc<str>>,
    /// It will not succeed; in the importer's words.
    pub(crate) failed: Option<Arc<str>>,
}
