//! Contents of the files of a backup, decrypted if they are encrypted.

use super::backup_storage::BackupStorage;
use super::error::StorageError;
use super::found::FileReader;
use crate::backup::{BackupFile, BackupPath, Identities, decrypted};
use age::DecryptError;
use secrecy::SecretString;
use tokio::io::AsyncReadExt as _;

/// Largest file that is read into memory.
const LARGEST_TEXT: u64 = 16 << 20;

/// Opens a file of a backup.
///
/// # Errors
///
/// It cannot be read, or is encrypted to other identities.
pub(crate) async fn open_content(
    storage: &BackupStorage,
    backup: &BackupPath,
    file: BackupFile,
    identities: Option<&Identities>,
) -> Result<FileReader, StorageError> {
    let name = file.name();
    let reader = storage.read(backup, name).await?;
    if !file.is_encrypted() {
        return Ok(reader);
    }
    let no_identity = || StorageError::NoMatchingIdentity {
        file: name.to_owned(),
    };
    let identities = identities.ok_or_else(no_identity)?;
    match decrypted(reader, identities).await {
        Ok(plain) => Ok(Box::new(plain)),
        Err(DecryptError::NoMatchingKeys) => Err(no_identity()),
        Err(error) => Err(StorageError::damaged(name, error.to_string())),
    }
}

/// Reads a file of a backup into memory.
///
/// # Errors
///
/// Like [`open_content`]; or it is not text, or too large.
pub(crate) async fn read_text(
    storage: &BackupStorage,
    backup: &BackupPath,
    file: BackupFile,
    identities: Option<&Identities>,
) -> Result<SecretString, StorageError> {
    let reader = open_content(storage, backup, file, identities).await?;
    let mut text = String::new();
    let read = reader
        .take(LARGEST_TEXT + 1)
        .read_to_string(&mut text)
        .await;
    let damaged = |why: String| StorageError::damaged(file.name(), why);
    match read {
        Ok(length) if length as u64 > LARGEST_TEXT => Err(damaged("it is too large".to_owned())),
        Ok(_) => Ok(text.into()),
        Err(error) => Err(damaged(error.to_string())),
    }
}
