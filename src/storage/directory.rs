//! Backups in directories.
//!
//! A backup is written into a hidden directory, which is renamed when it is complete. All of it is synced to disk before
//! and after.

use super::error::StorageError;
use super::found::{FileReader, FoundBackup};
use crate::backup::{BackupPath, BackupScope, INDEX};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWriteExt as _};

/// Suffixes of hidden directories: of backups that are being written or deleted.
const PART: &str = ".part";
const DELETED: &str = ".deleted";

#[derive(Debug, Clone)]
pub(crate) struct DirectoryStorage {
    root: PathBuf,
}

/// A backup that is being written. Deleted when dropped.
#[derive(Debug)]
pub(super) struct PendingDirectory {
    directory: TempDir,
    target: PathBuf,
    root: PathBuf,
}

impl DirectoryStorage {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn path(&self, backup: &BackupPath) -> PathBuf {
        self.shoot(backup).join(backup.name.as_str())
    }

    fn shoot(&self, backup: &BackupPath) -> PathBuf {
        self.root.join(&backup.namespace).join(&backup.id)
    }

    pub(super) fn begin(&self, backup: &BackupPath) -> Result<PendingDirectory, StorageError> {
        let shoot = self.shoot(backup);
        let failed = |error: io::Error| StorageError::of_file(&error, shoot.display().to_string());
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(&shoot).map_err(failed)?;
        let directory = tempfile::Builder::new()
            .prefix(&format!(".{}", backup.name))
            .suffix(PART)
            .rand_bytes(0)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&shoot)
            .map_err(failed)?;
        Ok(PendingDirectory {
            directory,
            target: self.path(backup),
            root: self.root.clone(),
        })
    }

    pub(super) async fn read(
        &self,
        backup: &BackupPath,
        file: &str,
    ) -> Result<FileReader, StorageError> {
        open(&self.path(backup).join(file)).await
    }

    pub(super) async fn find(&self, scope: &BackupScope) -> Result<Vec<FoundBackup>, StorageError> {
        // Reading a directory of the network may block.
        let (root, scope) = (self.root.clone(), scope.clone());
        let found = tokio::task::spawn_blocking(move || find(&root, &scope)).await;
        found.unwrap_or_else(|error| {
            Err(StorageError::Failed {
                what: self.root.display().to_string(),
                why: error.to_string(),
            })
        })
    }

    pub(super) async fn delete(&self, backup: &BackupPath) -> Result<(), StorageError> {
        let (path, shoot) = (self.path(backup), self.shoot(backup));
        let name = backup.name.clone();
        let hidden = |suffix| shoot.join(format!(".{name}{suffix}"));
        let (part, deleted) = (hidden(PART), hidden(DELETED));
        let failed = |error: io::Error| StorageError::of_file(&error, path.display().to_string());
        remove(&part).await.map_err(failed)?;
        remove(&deleted).await.map_err(failed)?;
        match tokio::fs::rename(&path, &deleted).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            renamed => renamed.map_err(failed)?,
        }
        sync_directory(&shoot).map_err(failed)?;
        remove(&deleted).await.map_err(failed)
    }
}

impl PendingDirectory {
    pub(super) async fn put(
        &self,
        file: &str,
        source: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        // At once: a file that a thread creates after a cancellation would keep the directory from being deleted.
        let target = options.open(self.directory.path().join(file))?;
        let mut target = tokio::fs::File::from_std(target);
        tokio::io::copy(source, &mut target).await?;
        target.flush().await?;
        target.sync_all().await
    }

    pub(super) async fn read(&self, file: &str) -> Result<FileReader, StorageError> {
        open(&self.directory.path().join(file)).await
    }

    /// Makes the backup visible, and durable.
    pub(super) fn commit(self) -> Result<(), StorageError> {
        let failed =
            |error: io::Error| StorageError::of_file(&error, self.target.display().to_string());
        sync_directory(self.directory.path()).map_err(failed)?;
        if self.target.exists() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        fs::rename(self.directory.path(), &self.target).map_err(failed)?;
        // There is nothing left to delete.
        let _ = self.directory.keep();
        let below_root = |it: &&Path| it.starts_with(&self.root);
        let parents = self.target.ancestors().skip(1).take_while(below_root);
        for parent in parents {
            sync_directory(parent).map_err(failed)?;
        }
        Ok(())
    }
}

async fn open(path: &Path) -> Result<FileReader, StorageError> {
    let failed = |error: io::Error| StorageError::of_file(&error, path.display().to_string());
    // A pipe would block until someone writes into it.
    let metadata = tokio::fs::symlink_metadata(path).await.map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    Ok(Box::new(tokio::fs::File::open(path).await.map_err(failed)?))
}

async fn remove(directory: &Path) -> io::Result<()> {
    match tokio::fs::remove_dir_all(directory).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn find(root: &Path, scope: &BackupScope) -> Result<Vec<FoundBackup>, StorageError> {
    let mut found = Vec::new();
    let failed = |error: io::Error| StorageError::of_file(&error, root.display().to_string());
    for namespace in names(root).map_err(failed)? {
        for id in names(&root.join(&namespace)).unwrap_or_default() {
            let shoot = root.join(&namespace).join(&id);
            for entry in names(&shoot).unwrap_or_default() {
                let hidden = entry.strip_prefix('.');
                let hidden =
                    hidden.and_then(|it| it.strip_suffix(PART).or(it.strip_suffix(DELETED)));
                let name = hidden.unwrap_or(&entry);
                let Some(path) = BackupPath::parse(&namespace, &id, name) else {
                    continue;
                };
                let is_complete = hidden.is_none() && shoot.join(&entry).join(INDEX).is_file();
                if scope.includes(&path) {
                    found.push(FoundBackup { path, is_complete });
                }
            }
        }
    }
    Ok(found)
}

/// Names of a directory that are UTF-8, as those of all backups are.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?;
    let names = entries.map(|it| Ok(it?.file_name().into_string().ok()));
    names.filter_map(io::Result::transpose).collect()
}
