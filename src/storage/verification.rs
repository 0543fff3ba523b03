//! Verifying backups: all files against the index, and their contents as far as they can be decrypted.

use super::backup_storage::BackupStorage;
use super::error::StorageError;
use super::found::FileReader;
use super::writer::{check_digest, compare};
use crate::backup::{
    BackupFile, BackupIndex, BackupPath, HashingReader, INDEX, Identities, KeyBundle,
    SnapshotHasher, StoredFile, decrypted,
};
use age::DecryptError;
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// An index is a few kilobytes.
const LARGEST_INDEX: u64 = 1 << 20;
/// Keys are read into memory.
const LARGEST_KEYS: u64 = 16 << 20;

/// A backup that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verification {
    pub(crate) index: BackupIndex,
    /// Also that of encrypted files was verified. Otherwise only their hashes were.
    pub(crate) has_read_content: bool,
}

/// Reads the index of a backup.
///
/// # Errors
///
/// It is damaged or cannot be read, or it is that of another backup.
pub(crate) async fn read_index(
    storage: &BackupStorage,
    backup: &BackupPath,
) -> Result<BackupIndex, StorageError> {
    let reader = storage.read(backup, INDEX).await?;
    let mut text = Vec::new();
    let read = reader.take(LARGEST_INDEX).read_to_end(&mut text).await;
    read.map_err(|error| StorageError::of_file(&error, INDEX))?;
    let index = BackupIndex::decode(&text)
        .map_err(|error| StorageError::damaged(INDEX, error.to_string()))?;
    let shoot = &index.shoot;
    if (&shoot.namespace, &shoot.id) != (&backup.namespace, &backup.id) {
        let why = format!("it belongs to {}/{}", shoot.namespace, shoot.id);
        return Err(StorageError::damaged(INDEX, why));
    }
    Ok(index)
}

/// Reads all files of a backup.
///
/// # Errors
///
/// A file is missing, cut off or changed, or cannot be read.
pub(crate) async fn verify(
    storage: &BackupStorage,
    backup: &BackupPath,
    identities: Option<&Identities>,
) -> Result<Verification, StorageError> {
    let index = read_index(storage, backup).await?;
    for file in &index.files {
        let name = file.name.name();
        let reader = match storage.read(backup, name).await {
            Err(StorageError::NotFound { .. }) => {
                return Err(StorageError::damaged(name, "it is missing"));
            }
            reader => reader?,
        };
        match (file.name.is_encrypted(), identities) {
            (true, None) => compare(file, reader).await?,
            (true, Some(identities)) => decrypt(&index, file, reader, identities).await?,
            (false, _) => {
                let mut reader = HashingReader::new(reader.take(file.bytes.saturating_add(1)));
                // A wrong hash explains a wrong content.
                let content = check_content(&index, file.name, &mut reader).await;
                drain(&mut reader, name).await?;
                check_digest(file, reader.digest())?;
                content?;
            }
        }
    }
    let is_readable = |it: &StoredFile| !it.name.is_encrypted() || identities.is_some();
    let has_read_content = index.files.iter().all(is_readable);
    Ok(Verification {
        index,
        has_read_content,
    })
}

async fn decrypt(
    index: &BackupIndex,
    file: &StoredFile,
    reader: FileReader,
    identities: &Identities,
) -> Result<(), StorageError> {
    let name = file.name.name();
    let mut reader = HashingReader::new(reader.take(file.bytes.saturating_add(1)));
    let content = match decrypted(&mut reader, identities).await {
        Ok(mut plain) => check_content(index, file.name, &mut plain).await,
        Err(DecryptError::NoMatchingKeys) => Err(StorageError::NoMatchingIdentity {
            file: name.to_owned(),
        }),
        Err(error) => Err(StorageError::damaged(name, error.to_string())),
    };
    drain(&mut reader, name).await?;
    check_digest(file, reader.digest())?;
    content
}

/// Checks the contents of a file that is not encrypted, or no longer.
async fn check_content(
    index: &BackupIndex,
    file: BackupFile,
    reader: &mut (impl AsyncRead + Unpin),
) -> Result<(), StorageError> {
    let name = file.name();
    match file {
        BackupFile::Snapshot | BackupFile::EncryptedSnapshot => {
            let hasher = hash_snapshot(reader, name).await?;
            let checked = hasher.check();
            let sum = checked.map_err(|error| StorageError::damaged(name, error.to_string()))?;
            let etcd = &index.etcd;
            match (hasher.length(), sum) == (etcd.snapshot_bytes, etcd.snapshot_sha256) {
                true => Ok(()),
                false => Err(StorageError::damaged(name, "it is another snapshot")),
            }
        }
        BackupFile::Secrets | BackupFile::EncryptedSecrets => {
            let mut text = String::new();
            let read = reader.take(LARGEST_KEYS).read_to_string(&mut text).await;
            read.map_err(|_| StorageError::damaged(name, "it is not text"))?;
            let keys = KeyBundle::decode(&SecretString::from(text));
            keys.map(drop)
                .map_err(|error| StorageError::damaged(name, error.to_string()))
        }
        _ => Ok(()),
    }
}

async fn hash_snapshot(
    reader: &mut (impl AsyncRead + Unpin),
    name: &str,
) -> Result<SnapshotHasher, StorageError> {
    let mut hasher = SnapshotHasher::default();
    let mut block = vec![0; 64 << 10];
    loop {
        let read = reader.read(&mut block).await;
        // Decryption fails at the first byte that was changed.
        let read = read.map_err(|error| StorageError::damaged(name, error.to_string()))?;
        if read == 0 {
            return Ok(hasher);
        }
        hasher.update(&block[..read]);
    }
}

async fn drain(reader: &mut (impl AsyncRead + Unpin), name: &str) -> Result<(), StorageError> {
    let read = tokio::io::copy(reader, &mut tokio::io::sink()).await;
    read.map(drop)
        .map_err(|error| StorageError::of_file(&error, name))
}
