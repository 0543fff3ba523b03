//! Files that nobody else may read, and locks that die with their holder.

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
        .map_err(io(format!("make {}", path.display())))
}

/// Writes a file whole or not at all; private from its first byte.
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

/// Removes a folder with all that is in it; one that is not there is fine.
pub(super) fn remove_dir(path: &Path) -> Result<(), SandboxError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io(format!("remove {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

/// The last lines of a program's log. Where a Go program panics, they are those before it tells where it was.
pub(super) fn last_words(path: &Path, lines: usize) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all = text.lines().filter(|it| !it.trim().is_empty());
    let all: Vec<&str> = all.take_while(|it| !it.starts_with("goroutine ")).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Held while its value lives. The system lets go of it when its holder dies, so none is ever stale.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits while another holds it, at most for `patience`; `waiting` hears of it once.
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
        let begun = std::time::Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed()(error)),
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    // The holder may be about to write its number; then it goes untold.
                    let _ = file.rewind().and_then(|()| file.read_to_string(&mut text));
                    let holder = text.trim().parse().ok();
                    if begun.elapsed() >= patience {
                        let what = what.to_owned();
                        return Err(SandboxError::Busy { what, holder });
                    }
                    if !told {
                        waiting(holder);
                        told = true;
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
    fn the_last_words_of_a_program_that_panics_are_why() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let text = "one\ntwo\npanic: no watcher\n\ngoroutine 195 [running]:\nmain.main()\n";
        std::fs::write(log.path(), text).unwrap();
        assert_eq!(last_words(log.path(), 2), "two\npanic: no watcher");
        assert_eq!(last_words(Path::new("/nowhere"), 2), "");
    }
}
