//! The clock. In a sandbox, it may be ahead of that of this computer.

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The variable with the path of the file, for the programs of a sandbox.
pub(crate) const VARIABLE: &str = "KVSHOOT_SANDBOX_CLOCK";

/// The file with the seconds that the clock is ahead. It is read each time, because a run may last until they change.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Follows the clock of a sandbox from now on. A process uses one sandbox at most, so later files change nothing.
pub(crate) fn follow(file: PathBuf) {
    FILE.get_or_init(|| file);
}

/// Time between two looks at the clock.
const INTERVAL: Duration = Duration::from_secs(10);
/// A clock that differs more from the time that has passed was set, or this computer slept.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(5);

pub(crate) fn now() -> Timestamp {
    let ahead = SignedDuration::from_secs(seconds_ahead());
    let now = Timestamp::now();
    now.checked_add(ahead).unwrap_or(now)
}

/// The file that it follows.
pub(crate) fn file() -> Option<&'static Path> {
    FILE.get().map(PathBuf::as_path)
}

/// Seconds that the clock is ahead of that of this computer.
pub(crate) fn seconds_ahead() -> i64 {
    file().map_or(0, seconds_in)
}

/// The number in a file: eight bytes, in the order of this computer, because other programs map it to memory. Zero if the
/// file is missing or damaged.
pub(crate) fn seconds_in(file: &Path) -> i64 {
    let bytes = fs::read(file).ok().and_then(|it| it.try_into().ok());
    bytes.map_or(0, i64::from_ne_bytes)
}

/// A moment, by the clock and by the time that passes.
pub(crate) struct Moment {
    instant: Instant,
    clock: Timestamp,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment {
            instant: Instant::now(),
            clock: now(),
        }
    }

    /// Ends when the clock was set since this moment, or this computer slept: what was observed has times of the old clock.
    pub(crate) async fn until_clock_jumps(&self) {
        loop {
            let passed = SignedDuration::try_from(self.instant.elapsed()).unwrap_or_default();
            let difference = now().duration_since(self.clock) - passed;
            if difference.abs() > TOLERANCE {
                return;
            }
            sleep(INTERVAL).await;
        }
    }
}

/// The clock, for the validity of certificates in TLS.
#[derive(Debug)]
pub(crate) struct TlsClock;

impl TimeProvider for TlsClock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_does_not_go_as_the_time_that_passes_has_jumped() {
        // Time that is paused passes at once, while the clock stands still.
        let moment = Moment::now();
        assert_eq!(moment.instant.elapsed(), Duration::ZERO);
        let jump = timeout(3 * INTERVAL, moment.until_clock_jumps()).await;
        assert!(jump.is_ok());
        assert_eq!(moment.instant.elapsed(), INTERVAL);
    }

    #[test]
    fn a_clock_is_ahead_by_the_number_in_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let seconds = |bytes: &[u8]| {
            fs::write(file.path(), bytes).unwrap();
            seconds_in(file.path())
        };
        assert_eq!(seconds(&3600_i64.to_ne_bytes()), 3600);
        assert_eq!(seconds(b""), 0);
        assert_eq!(seconds(b"123456789"), 0);
        assert_eq!(seconds_in(Path::new("/nonexistent")), 0);
    }
}
