//! The clock of a sandbox, which only moves forward.

use crate::sandbox::clock_file::ClockFile;
use crate::sandbox::error::SandboxError;
use crate::sandbox::identity;
use crate::sandbox::manager::Sandbox;
use crate::sandbox::progress::Step;
use crate::sandbox::state::{self, Dirs};
use jiff::{SignedDuration, Timestamp};
use std::path::PathBuf;

/// The clocks of two programs that are read one after the other may differ by this.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(10);

/// The file with the clock of the sandbox whose provider cluster has this URL.
pub(crate) fn clock_at(server: &str, dirs: &Dirs) -> Option<PathBuf> {
    let (folder, _) = state::at(server, &dirs.state.join("sandboxes"))?;
    Some(ClockFile::of(&folder).path().to_owned())
}

impl Sandbox {
    /// The file with the seconds that its clock is ahead.
    pub(crate) fn clock_file(&self) -> PathBuf {
        ClockFile::of(self.folder()).path().to_owned()
    }

    /// Returns how far its clock is ahead of this computer's.
    ///
    /// # Errors
    ///
    /// [`SandboxError::NotRunning`].
    pub(crate) fn clock_ahead(&self) -> Result<SignedDuration, SandboxError> {
        self.kubectl()?;
        let ahead = ClockFile::of(self.folder()).seconds_ahead();
        Ok(SignedDuration::from_secs(ahead))
    }

    /// Moves its clock forward by a duration, for all programs that run in it.
    ///
    /// # Errors
    ///
    /// [`SandboxError::ClockLimit`] after the last day of its certificates. [`SandboxError::FixedClock`] if its programs
    /// were built without a clock that moves; it is then as it was.
    pub(crate) fn move_clock(
        &self,
        by: SignedDuration,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), SandboxError> {
        let kubectl = self.kubectl()?;
        let _lock = self.lock(progress)?;
        let clock = ClockFile::of(self.folder());
        let before = clock.seconds_ahead();
        let ahead = before.saturating_add(by.as_secs());
        let expected = |ahead| Timestamp::now().checked_add(SignedDuration::from_secs(ahead));
        if !expected(ahead).is_ok_and(|it| it.as_second() < identity::END) {
            return Err(SandboxError::ClockLimit);
        }
        clock.set(ahead)?;
        // The API server says what time it is, and stores nothing.
        let created = kubectl.run(&[
            "create",
            "configmap",
            "clock",
            "--dry-run=server",
            "-o=jsonpath={.metadata.creationTimestamp}",
        ]);
        let seen = created
            .as_ref()
            .ok()
            .and_then(|it| it.parse::<Timestamp>().ok());
        let difference = |seen: Timestamp| Some(seen.duration_since(expected(ahead).ok()?).abs());
        if seen.and_then(difference).is_some_and(|it| it < TOLERANCE) {
            return Ok(());
        }
        clock.set(before)?;
        created?;
        Err(SandboxError::FixedClock)
    }
}
