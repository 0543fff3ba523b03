//! Backups and files at a destination.

use crate::backup::BackupPath;
use tokio::io::AsyncRead;

/// A backup that was found at its destination.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FoundBackup {
    pub(crate) path: BackupPath,
    /// False for what an interrupted run has left behind, or is still writing.
    pub(crate) is_complete: bool,
}

/// Bytes of a file at a destination.
pub(super) type FileReader = Box<dyn AsyncRead + Send + Unpin>;
