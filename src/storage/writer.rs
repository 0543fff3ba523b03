//! Writing a backup, file by file.

use super::backup_storage::BackupStorage;
use super::error::StorageError;
use super::pending::PendingBackup;
use crate::backup::{
    BackupFile, BackupIndex, BackupPath, HashingReader, Recipients, Sha256Digest, StoredFile,
    encrypted,
};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Writes one backup. Nothing is visible before [`BackupWriter::finish`].
#[derive(Debug)]
pub(crate) struct BackupWriter {
    pending: PendingBackup,
    recipients: Option<Recipients>,
    files: Vec<StoredFile>,
}

impl BackupWriter {
    /// # Errors
    ///
    /// The destination cannot be written.
    pub(crate) fn begin(
        storage: &BackupStorage,
        backup: &BackupPath,
        recipients: Option<Recipients>,
    ) -> Result<BackupWriter, StorageError> {
        Ok(BackupWriter {
            pending: PendingBackup::begin(storage, backup)?,
            recipients,
            files: Vec::new(),
        })
    }

    /// Writes a file and reads it back. A file with an encrypted name is encrypted.
    pub(crate) async fn add(
        &mut self,
        file: BackupFile,
        source: impl AsyncRead + Unpin + Send,
    ) -> Result<(), StorageError> {
        let written = match (file.is_encrypted(), &self.recipients) {
            (false, _) => self.write(file, source).await?,
            (true, Some(recipients)) => {
                let sealed = encrypted(source, recipients);
                let sealed = sealed.map_err(|error| StorageError::of_file(&error, file.name()))?;
                self.write(file, sealed).await?
            }
            (true, None) => {
                let why = format!("{} needs recipients", file.name());
                return Err(StorageError::Settings(why));
            }
        };
        let stored = StoredFile {
            name: file,
            bytes: written.length(),
            sha256: written.sum(),
        };
        let read = self.pending.read(file.name()).await?;
        compare(&stored, read).await?;
        self.files.push(stored);
        Ok(())
    }

    async fn write(
        &self,
        file: BackupFile,
        source: impl AsyncRead + Unpin + Send,
    ) -> Result<Sha256Digest, StorageError> {
        let mut source = HashingReader::new(source);
        self.pending.put(file.name(), &mut source).await?;
        Ok(source.digest().clone())
    }

    /// Completes the backup with its index, whose list of files is filled in.
    ///
    /// # Errors
    ///
    /// The backup may exist nevertheless, if the response of the destination was lost.
    pub(crate) async fn finish(self, mut index: BackupIndex) -> Result<BackupIndex, StorageError> {
        index.files = self.files;
        self.pending.commit(&index.encode()).await?;
        Ok(index)
    }

    /// Deletes what was written.
    pub(crate) async fn discard(self) {
        self.pending.discard().await;
    }
}

/// Reads a file to its end.
///
/// # Errors
///
/// It is not the one that was stored.
pub(super) async fn compare(
    stored: &StoredFile,
    reader: impl AsyncRead + Unpin,
) -> Result<(), StorageError> {
    let name = stored.name.name();
    // One byte more than expected is enough to notice the difference.
    let limited = reader.take(stored.bytes.saturating_add(1));
    let mut reader = HashingReader::new(limited);
    let read = tokio::io::copy(&mut reader, &mut tokio::io::sink()).await;
    read.map_err(|error| StorageError::of_file(&error, name))?;
    check_digest(stored, reader.digest())
}

pub(super) fn check_digest(stored: &StoredFile, read: &Sha256Digest) -> Result<(), StorageError> {
    let name = stored.name.name();
    if read.length() != stored.bytes {
        let why = match read.length() < stored.bytes {
            true => format!("{} of {} bytes", read.length(), stored.bytes),
            false => format!("more than {} bytes", stored.bytes),
        };
        return Err(StorageError::damaged(name, why));
    }
    match read.sum() == stored.sha256 {
        true => Ok(()),
        false => Err(StorageError::damaged(name, "its SHA-256 does not match")),
    }
}
