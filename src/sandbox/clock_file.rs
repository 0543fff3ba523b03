//! The clock of a sandbox, as all of its programs read it.

use super::error::{SandboxError, io};
use crate::clock;
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file with the seconds that the clock is ahead of this computer's, which programs map to memory.
#[derive(Debug, Clone)]
pub(super) struct ClockFile {
    path: PathBuf,
}

impl ClockFile {
    /// That of the sandbox with this folder.
    pub(super) fn of(folder: &Path) -> Self {
        Self {
            path: folder.join("clock"),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file, before any program maps it. A clock that is ahead stays so while the data exists.
    pub(super) fn prepare(&self, is_new: bool) -> Result<(), SandboxError> {
        let ahead = match is_new {
            true => 0,
            false => self.seconds_ahead(),
        };
        self.set(ahead)
    }

    pub(super) fn seconds_ahead(&self) -> i64 {
        clock::seconds_in(&self.path)
    }

    /// Changes the file in place, because programs have mapped it.
    pub(super) fn set(&self, ahead: i64) -> Result<(), SandboxError> {
        let failed = || io(format!("write {}", self.path.display()));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.path)
            .map_err(failed())?;
        let bytes = ahead.to_ne_bytes();
        file.write_all_at(&bytes, 0).map_err(failed())?;
        // Other bytes would make it unreadable for kvshoot, but not for the programs.
        file.set_len(bytes.len() as u64).map_err(failed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_stays_ahead_while_the_data_exists() {
        let folder = tempfile::tempdir().unwrap();
        let clock = ClockFile::of(folder.path());
        clock.prepare(true).unwrap();
        assert_eq!(std::fs::read(clock.path()).unwrap(), [0; 8]);
        clock.set(3600).unwrap();
        clock.prepare(false).unwrap();
        assert_eq!(clock.seconds_ahead(), 3600);
        clock.prepare(true).unwrap();
        assert_eq!(clock.seconds_ahead(), 0);
    }

    #[test]
    fn a_damaged_clock_is_that_of_this_computer() {
        let folder = tempfile::tempdir().unwrap();
        let clock = ClockFile::of(folder.path());
        for damaged in ["12", "123456789"] {
            std::fs::write(clock.path(), damaged).unwrap();
            clock.prepare(false).unwrap();
            assert_eq!(std::fs::read(clock.path()).unwrap(), [0; 8]);
        }
    }
}
