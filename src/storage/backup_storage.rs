//! A destination of any kind.

use super::bucket::BucketStorage;
use super::directory::DirectoryStorage;
use super::error::StorageError;
use super::found::{FileReader, FoundBackup};
use super::s3_settings::S3Settings;
use crate::backup::{BackupDestination, BackupPath, BackupScope};

/// A destination that can be used.
#[derive(Debug, Clone)]
pub(crate) enum BackupStorage {
    Directory(DirectoryStorage),
    Bucket(BucketStorage),
}

impl BackupStorage {
    /// # Errors
    ///
    /// The settings are not complete or not valid. Nothing is read yet.
    pub(crate) fn open(
        destination: &BackupDestination,
        settings: &S3Settings,
    ) -> Result<BackupStorage, StorageError> {
        Ok(match destination {
            BackupDestination::Directory(directory) => {
                BackupStorage::Directory(DirectoryStorage::new(directory.clone()))
            }
            BackupDestination::Claim(claim) => {
                let claim = claim.clone();
                return Err(StorageError::PodsOnly { claim });
            }
            BackupDestination::Bucket { bucket, prefix } => {
                BackupStorage::Bucket(BucketStorage::open(bucket, prefix, settings)?)
            }
        })
    }

    /// Finds backups, oldest first.
    pub(crate) async fn find(&self, scope: &BackupScope) -> Result<Vec<FoundBackup>, StorageError> {
        let mut found = match self {
            BackupStorage::Directory(storage) => storage.find(scope).await?,
            BackupStorage::Bucket(storage) => storage.find(scope).await?,
        };
        found.sort();
        Ok(found)
    }

    /// Deletes a backup. It is no longer one from the first change on.
    pub(crate) async fn delete(&self, backup: &BackupPath) -> Result<(), StorageError> {
        match self {
            BackupStorage::Directory(storage) => storage.delete(backup).await,
            BackupStorage::Bucket(storage) => storage.delete(backup).await,
        }
    }

    pub(super) async fn read(
        &self,
        backup: &BackupPath,
        file: &str,
    ) -> Result<FileReader, StorageError> {
        match self {
            BackupStorage::Directory(storage) => storage.read(backup, file).await,
            BackupStorage::Bucket(storage) => storage.read(backup, file).await,
        }
    }

    /// The place of a backup, for display.
    pub(crate) fn location(&self, backup: &BackupPath) -> String {
        match self {
            BackupStorage::Directory(storage) => storage.path(backup).display().to_string(),
            BackupStorage::Bucket(storage) => storage.location(backup),
        }
    }
}
