//! A clock that moves, for all programs of the sandbox: a change to Go's package `time`.
//!
//! Go compiles its standard library with each program, and an overlay replaces files of it for one build. Static programs
//! cannot be given another clock in a different way.

use crate::sandbox::error::SandboxError;
use crate::sandbox::private_files;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// A file in addition to those of the package.
const MOVED: &str = include_str!("../programs/clock/moved.go");

/// In the function `Now` of `time.go`.
const READS_CLOCK: &str = "sec, nsec, mono := runtimeNow()\n";

/// Writes an overlay for `go build` into `folder`, for the Go in `goroot`.
///
/// Returns `None` if the package of this version of Go has another function `Now`: its programs have the clock of this
/// computer.
pub(super) fn overlay(folder: &Path, goroot: &Path) -> Result<Option<PathBuf>, SandboxError> {
    let package = goroot.join("src/time");
    let original = package.join("time.go");
    let Some(changed) = std::fs::read_to_string(&original)
        .ok()
        .and_then(|it| with_moved_clock(&it))
    else {
        return Ok(None);
    };
    let folder = folder.join("clock");
    private_files::make_dir(&folder)?;
    let (time, moved) = (folder.join("time.go"), folder.join("moved.go"));
    private_files::write(&time, &changed)?;
    private_files::write(&moved, MOVED)?;
    let overlay = folder.join("overlay.json");
    let replaced = serde_json::json!({
        "Replace": {original.display().to_string(): time, package.join("moved.go").display().to_string(): moved},
    });
    private_files::write(&overlay, &replaced.to_string())?;
    Ok(Some(overlay))
}

/// `None` if the text does not read the clock exactly once.
fn with_moved_clock(text: &str) -> Option<String> {
    let is_known = text.matches(READS_CLOCK).count() == 1;
    is_known.then(|| {
        text.replace(
            READS_CLOCK,
            &format!("{READS_CLOCK}\tsec += movedSeconds()\n"),
        )
    })
}

/// Adds what the clock is built of.
pub(super) fn update_digest(hash: &mut Sha256) {
    hash.update(READS_CLOCK);
    hash.update(MOVED);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_moved_where_the_package_reads_it() {
        let text = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n";
        let expected = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += movedSeconds()\n\tif mono == 0 {\n";
        assert_eq!(with_moved_clock(text).as_deref(), Some(expected));
        assert_eq!(with_moved_clock("func Now() Time {}"), None);
        assert_eq!(with_moved_clock(&text.repeat(2)), None);
    }
}
