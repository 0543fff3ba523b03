//! Files that only their owner can read, from creation on, and the lock file that kubectl uses for kubeconfigs.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// Time to wait for a lock that another program holds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{} is locked{}", path.display(), holder.as_ref().map_or_else(String::new, |it| format!(" by {it}")))]
    Locked {
        /// Path of the lock file.
        path: PathBuf,
        /// Content of the lock file; kubectl leaves it empty.
        holder: Option<String>,
    },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Replaces a file atomically, with mode 0600. Creates missing directories.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    // Write through a symbolic link instead of replacing it.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let failed = |source| FileError::Io {
        path: path.clone(),
        source,
    };
    let directory = parent(path);
    create_directory(directory).map_err(failed)?;
    let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|it| failed(it.error))?;
    // The new name is durable too.
    File::open(directory)
        .and_then(|it| it.sync_all())
        .map_err(failed)
}

/// Copies a file to its name with `.bak`, with mode 0600, before it is changed. Returns the name of the copy, or none if
/// there is nothing to copy.
pub(crate) fn back_up(path: &Path) -> Result<Option<PathBuf>, FileError> {
    let text = read(path)?;
    if text.is_empty() {
        return Ok(None);
    }
    let mut copy = path.as_os_str().to_owned();
    copy.push(".bak");
    let copy = PathBuf::from(copy);
    write(&copy, &text)?;
    Ok(Some(copy))
}

/// Opens a file to append to, created with mode 0600. Symbolic links are not followed, and pipes are refused: opening one
/// waits for a reader.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true);
    match options.clone().create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let named = fs::symlink_metadata(path)?;
    let is_same = |opened: &Metadata| (opened.dev(), opened.ino()) == (named.dev(), named.ino());
    let link = || io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link");
    if named.is_symlink() {
        return Err(link());
    }
    // A device, for example /dev/null.
    if !named.is_file() && !named.file_type().is_char_device() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file",
        ));
    }
    let file = options.open(path)?;
    // It may have been replaced by a link in between.
    match is_same(&file.metadata()?) {
        true => Ok(file),
        false => Err(link()),
    }
}

/// Reads a file; empty if it does not exist.
pub(crate) fn read(path: &Path) -> Result<String, FileError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(|source| FileError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// `FILE.lock`, compatible with client-go; deleted when dropped.
#[derive(Debug)]
pub(crate) struct FileLock(PathBuf);

impl FileLock {
    /// Acquires the lock, waiting up to 10 s; `holder` is shown to programs that find it locked.
    pub(crate) fn acquire(file: &Path, holder: &str) -> Result<FileLock, FileError> {
        FileLock::acquire_within(file, holder, LOCK_TIMEOUT)
    }

    fn acquire_within(file: &Path, holder: &str, timeout: Duration) -> Result<FileLock, FileError> {
        let mut path = file.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let started = Instant::now();
        let failed = |source| FileError::Io {
            path: path.clone(),
            source,
        };
        create_directory(parent(&path)).map_err(failed)?;
        loop {
            match create_lock_file(&path) {
                Ok(mut lock) => {
                    // The holder is informative only; kubectl's lock files are empty.
                    let _ = writeln!(lock, "{holder}");
                    return Ok(FileLock(path));
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                Err(_) if started.elapsed() >= timeout => {
                    let holder = fs::read_to_string(&path)
                        .ok()
                        .map(|text| text.trim().to_owned())
                        .filter(|text| !text.is_empty());
                    return Err(FileError::Locked { path, holder });
                }
                Err(_) => sleep(POLL_INTERVAL),
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::warn!(%error, "cannot delete lock file {}", self.0.display());
        }
    }
}

fn create_lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)
}

fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|it| !it.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
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
    fn files_are_readable_by_their_owner_only() {
        let home = TempDir::new().unwrap();
        let path = home.path().join(".kube/config");
        write(&path, "one").unwrap();
        assert_eq!((mode(&path), read(&path).unwrap()), (0o600, "one".into()));
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, "two").unwrap();
        assert_eq!((mode(&path), read(&path).unwrap()), (0o600, "two".into()));
    }

    #[test]
    fn a_log_is_private_and_not_behind_a_link() {
        let home = TempDir::new().unwrap();
        let (path, link) = (home.path().join("log"), home.path().join("link"));
        for text in ["one ", "two"] {
            append(&path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(
            (mode(&path), read(&path).unwrap()),
            (0o600, "one two".into())
        );
        symlink(&path, &link).unwrap();
        assert!(append(&link).is_err());
        fs::remove_file(&path).unwrap();
        assert!(append(&link).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn symbolic_links_are_preserved() {
        let home = TempDir::new().unwrap();
        let (path, link) = (home.path().join("real"), home.path().join("link"));
        write(&path, "one").unwrap();
        symlink(&path, &link).unwrap();
        write(&link, "two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read(&path).unwrap(), "two");
    }

    #[test]
    fn a_held_lock_names_its_holder() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("config");
        let lock = FileLock::acquire_within(&path, "me, process 1", Duration::ZERO).unwrap();
        let error = FileLock::acquire_within(&path, "you", Duration::ZERO).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("config.lock is locked by me, process 1"),
            "{error}"
        );
        drop(lock);
        drop(FileLock::acquire_within(&path, "you", Duration::ZERO).unwrap());
        assert!(!home.path().join("config.lock").exists());
    }

    #[test]
    fn a_released_lock_is_acquired_by_a_waiting_process() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("config");
        let lock = FileLock::acquire(&path, "me").unwrap();
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || FileLock::acquire(&path, "you").map(drop)
        });
        drop(lock);
        waiting.join().unwrap().unwrap();
    }
}
