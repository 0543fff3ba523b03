//! A directory of secret files that does not outlive its process for long, even if that is killed.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir};

const PREFIX: &str = "kvshoot-";
/// Its owner holds a lock on it, which the kernel releases when the process ends.
const LOCK: &str = "lock";
/// Name of the lock before its owner holds it.
const NEW_LOCK: &str = "lock.new";

/// Deleted with its files when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory {
    directory: TempDir,
    _lock: File,
}

impl TemporaryDirectory {
    /// Creates a directory that only this user can open, and deletes those that killed processes left behind.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn new() -> io::Result<TemporaryDirectory> {
        let parent = std::env::temp_dir();
        delete_abandoned(&parent);
        TemporaryDirectory::new_in(&parent)
    }

    fn new_in(parent: &Path) -> io::Result<TemporaryDirectory> {
        let directory = Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let new = directory.path().join(NEW_LOCK);
        let lock = private().create_new(true).open(&new)?;
        lock.lock()?;
        fs::rename(new, directory.path().join(LOCK))?;
        Ok(TemporaryDirectory {
            directory,
            _lock: lock,
        })
    }

    /// Path of a file of this directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Deletes the directories of processes that have ended. What cannot be deleted stays.
fn delete_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_named && is_abandoned(&entry.path()) {
            tracing::debug!("delete {} of an ended process", entry.path().display());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// True for a directory of this user whose lock is free. Without a lock, it was not made here, or is being made.
fn is_abandoned(directory: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    let is_own = |it: Metadata| it.is_dir() && it.uid() == user && it.mode() & 0o077 == 0;
    let lock = directory.join(LOCK);
    fs::symlink_metadata(directory).is_ok_and(is_own)
        && fs::symlink_metadata(&lock).is_ok_and(|it| it.is_file())
        && private().open(lock).is_ok_and(|it| it.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::secure_file;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_is_deleted_with_its_files() {
        let parent = TempDir::new().unwrap();
        let directory = TemporaryDirectory::new_in(parent.path()).unwrap();
        let file = directory.file("kubeconfig");
        secure_file::write(&file, "key").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(directory.directory.path()), mode(&file)),
            (0o700, 0o600)
        );
        delete_abandoned(parent.path());
        assert!(
            file.exists(),
            "another process deletes only what is abandoned"
        );
        drop(directory);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_process_left_behind_is_deleted_and_nothing_else() {
        let parent = TempDir::new().unwrap();
        let TemporaryDirectory { directory, _lock } =
            TemporaryDirectory::new_in(parent.path()).unwrap();
        let abandoned = directory.keep();
        secure_file::write(&abandoned.join("kubeconfig"), "key").unwrap();
        drop(_lock);
        let path = |name: &str| parent.path().join(name);
        for name in ["kvshoot-without-lock", "other", "kvshoot-shared"] {
            fs::create_dir(path(name)).unwrap();
            fs::set_permissions(path(name), Permissions::from_mode(0o700)).unwrap();
        }
        fs::write(path("other").join(LOCK), "").unwrap();
        fs::write(path("kvshoot-shared").join(LOCK), "").unwrap();
        fs::set_permissions(path("kvshoot-shared"), Permissions::from_mode(0o755)).unwrap();
        symlink(path("other"), path("kvshoot-link")).unwrap();
        fs::write(path("kvshoot-file"), "").unwrap();
        delete_abandoned(parent.path());
        let mut rest: Vec<_> = fs::read_dir(parent.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        rest.sort();
        let kept = [
            "kvshoot-file",
            "kvshoot-link",
            "kvshoot-shared",
            "kvshoot-without-lock",
            "other",
        ];
        assert_eq!(rest, kept);
        assert!(path("other").join(LOCK).exists());
    }
}
