//! Files that only the user can read, and locks that are released when their holder exits.

use super::error::{SandboxError, io};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn make_dir(path: &Path) -> Result<(), SandboxError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(io(format!("create {}", path.display())))
}

/// Writes a file atomically. It is never readable by others.
pub(super) fn write(path: &Path, text: &str) -> Result<(), SandboxError> {
    let failed = || io(format!("write {}", path.display()));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    file.persist(path)
        .map_err(|error| failed()(error.error))
        .map(drop)
}

pub(super) fn read(path: &Path) -> Result<String, SandboxError> {
    std::fs::read_to_string(path).map_err(io(format!("read {}", path.display())))
}

/// Removes a folder with its contents; it may not exist.
pub(super) fn remove_dir(path: &Path) -> Result<(), SandboxError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io(format!("remove {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

/// Creates a symbolic link, and atomically replaces an existing file or link.
pub(super) fn symlink(target: &Path, link: &Path) -> Result<(), SandboxError> {
    let temporary = link.with_extension("new");
    // An interrupted run may have left it behind.
    let _ = std::fs::remove_file(&temporary);
    std::os::unix::fs::symlink(target, &temporary)
        .and_then(|()| std::fs::rename(&temporary, link))
        .map_err(io(format!("link {}", link.display())))
}

/// Returns the last lines of a program's log. After a panic of a Go program, those are the lines before the stack trace.
pub(super) fn last_lines(path: &Path, lines: usize) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all = text.lines().filter(|it| !it.trim().is_empty());
    let all: Vec<&str> = all.take_while(|it| !it.starts_with("goroutine ")).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// A lock that is held until its value is dropped. The system releases it when the process exits, so it is never stale.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits at most for `patience` while another process holds the lock, and calls `waiting` once.
    pub(super) fn take(
        path: PathBuf,
        what: &str,
        patience: Duration,
        mut waiting: impl FnMut(Option<u32>),
    ) -> Result<Self, SandboxError> {
        let failed = || io(format!("lock {}", path.display()));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed())?;
        let started = std::time::Instant::now();
        let mut reported = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed()(error)),
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    // The holder may not have written its process ID yet.
                    let _ = file.rewind().and_then(|()| file.read_to_string(&mut text));
                    let holder = text.trim().parse().ok();
                    if started.elapsed() >= patience {
                        let what = what.to_owned();
                        return Err(SandboxError::Busy { what, holder });
                    }
                    if !reported {
                        waiting(holder);
                        reported = true;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()))
            .map_err(failed())?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_after_a_panic_are_its_message() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let text = "one\ntwo\npanic: no watcher\n\ngoroutine 195 [running]:\nmain.main()\n";
        std::fs::write(log.path(), text).unwrap();
        assert_eq!(last_lines(log.path(), 2), "two\npanic: no watcher");
        assert_eq!(last_lines(Path::new("/nowhere"), 2), "");
    }
}
