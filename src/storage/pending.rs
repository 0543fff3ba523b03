//! A backup that is being written at any destination.

use super::backup_storage::BackupStorage;
use super::bucket::{PendingObjects, UploadError};
use super::directory::PendingDirectory;
use super::error::StorageError;
use super::found::FileReader;
use crate::backup::{BackupPath, HashingReader, INDEX};
use tokio::io::AsyncRead;

#[derive(Debug)]
pub(super) enum PendingBackup {
    Directory(PendingDirectory),
    Bucket(PendingObjects),
}

impl PendingBackup {
    pub(super) fn begin(
        storage: &BackupStorage,
        backup: &BackupPath,
    ) -> Result<PendingBackup, StorageError> {
        Ok(match storage {
            BackupStorage::Directory(storage) => PendingBackup::Directory(storage.begin(backup)?),
            BackupStorage::Bucket(storage) => PendingBackup::Bucket(storage.begin(backup)),
        })
    }

    /// Writes a file. An error of the source is distinguished from one of the destination.
    pub(super) async fn put<R: AsyncRead + Unpin + Send>(
        &self,
        file: &str,
        source: &mut HashingReader<R>,
    ) -> Result<(), StorageError> {
        let unreadable = |error: &std::io::Error| StorageError::Source {
            what: file.to_owned(),
            why: error.to_string(),
        };
        match self {
            PendingBackup::Directory(pending) => {
                let written = pending.put(file, source).await;
                written.map_err(|error| match source.has_failed() {
                    true => unreadable(&error),
                    false => StorageError::of_file(&error, file),
                })
            }
            PendingBackup::Bucket(pending) => {
                let written = pending.put(file, source).await;
                written.map_err(|error| match error {
                    UploadError::Source(error) => unreadable(&error),
                    UploadError::Server(error) => pending.failed(&error, file),
                })
            }
        }
    }

    pub(super) async fn read(&self, file: &str) -> Result<FileReader, StorageError> {
        match self {
            PendingBackup::Directory(pending) => pending.read(file).await,
            PendingBackup::Bucket(pending) => pending.read(file).await,
        }
    }

    /// Writes the index, and makes the backup visible and durable.
    pub(super) async fn commit(self, index: &str) -> Result<(), StorageError> {
        let mut index = HashingReader::new(index.as_bytes());
        self.put(INDEX, &mut index).await?;
        match self {
            PendingBackup::Directory(pending) => pending.commit(),
            PendingBackup::Bucket(_) => Ok(()),
        }
    }

    /// Deletes what was written. Directories are deleted when dropped.
    pub(super) async fn discard(&self) {
        if let PendingBackup::Bucket(pending) = self {
            pending.discard().await;
        }
    }
}
