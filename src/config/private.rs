//! Files that nobody else may read, from their first byte; and the lock that kubectl takes on a kubeconfig.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::{Builder, NamedTempFile};

/// How long another program may hold the lock.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{} is locked{}", path.display(), holder.as_ref().map_or_else(String::new, |it| format!(" by {it}")))]
    Locked {
        /// Of the lock.
        path: PathBuf,
        /// What stands in it; kubectl writes nothing.
        holder: Option<String>,
    },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A file that is gone with the value.
pub(crate) fn temporary(text: &str) -> io::Result<NamedTempFile> {
    let mut file = Builder::new()
        .prefix("kvshoot-")
        .suffix(".kubeconfig")
        .tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    Ok(file)
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    // A link stays one.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let failed = |source| FileError::Io {
        path: path.clone(),
        source,
    };
    let directory = directory(path);
    make(directory).map_err(failed)?;
    let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|it| failed(it.error))?;
    Ok(())
}

/// What a file holds; nothing when there is none.
pub(crate) fn read(path: &Path) -> Result<String, FileError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(|source| FileError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// `FILE.lock`, as client-go makes it; gone when dropped.
#[derive(Debug)]
pub(crate) struct Lock(PathBuf);

impl Lock {
    /// Waits a while for whoever has it; `holder` is what others will be told.
    pub(crate) fn take(file: &Path, holder: &str) -> Result<Lock, FileError> {
        Lock::take_within(file, holder, PATIENCE)
    }

    fn take_within(file: &Path, holder: &str, patience: Duration) -> Result<Lock, FileError> {
        let mut path = file.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let begun = Instant::now();
        let failed = |source| FileError::Io {
            path: path.clone(),
            source,
        };
        make(directory(&path)).map_err(failed)?;
        loop {
            match new(&path) {
                Ok(mut lock) => {
                    // Who finds it empty knows no less than with kubectl's.
                    let _ = writeln!(lock, "{holder}");
                    return Ok(Lock(path));
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                Err(_) if begun.elapsed() >= patience => {
                    let holder = fs::read_to_string(&path).ok();
                    let holder = holder.map(|it| it.trim().to_owned());
                    return Err(FileError::Locked {
                        holder: holder.filter(|it| !it.is_empty()),
                        path,
                    });
                }
                Err(_) => sleep(PAUSE),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::warn!(%error, "the lock {} stays", self.0.display());
        }
    }
}

fn new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

fn make(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)
}

fn directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use tempfile::TempDir;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nobody_else_reads_what_is_written() {
        let home = TempDir::new().unwrap();
        let path = home.path().join(".kube/config");
        write(&path, "one").unwrap();
        assert_eq!((mode(&path), read(&path).unwrap()), (0o600, "one".into()));
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, "two").unwrap();
        assert_eq!((mode(&path), read(&path).unwrap()), (0o600, "two".into()));
        let file = temporary("three").unwrap();
        assert_eq!(mode(file.path()), 0o600);
    }

    #[test]
    fn a_link_to_the_file_stays_a_link() {
        let home = TempDir::new().unwrap();
        let (path, link) = (home.path().join("real"), home.path().join("link"));
        write(&path, "one").unwrap();
        symlink(&path, &link).unwrap();
        write(&link, "two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read(&path).unwrap(), "two");
    }

    #[test]
    fn a_lock_is_one_program_s_and_tells_whose() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("config");
        let lock = Lock::take_within(&path, "me, process 1", Duration::ZERO).unwrap();
        let error = Lock::take_within(&path, "you", Duration::ZERO).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("config.lock is locked by me, process 1"),
            "{error}"
        );
        drop(lock);
        drop(Lock::take_within(&path, "you", Duration::ZERO).unwrap());
        assert!(!home.path().join("config.lock").exists());
    }

    #[test]
    fn a_lock_that_is_given_back_meanwhile_is_taken() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("config");
        let lock = Lock::take(&path, "me").unwrap();
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || Lock::take(&path, "you").map(drop)
        });
        drop(lock);
        waiting.join().unwrap().unwrap();
    }
}
