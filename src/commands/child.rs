//! A program that is run on behalf of whoever called: its environment, signals for it, and the code that it ends with.

use super::{CommandError, Exit};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use tokio::process::{Child, Command};

pub(super) use rustix::process::Signal;

/// As shells have it.
const NOT_EXECUTABLE: u8 = 126;
const NO_SUCH_PROGRAM: u8 = 127;
const SIGNALLED: i32 = 128;

/// Starts it with the streams of this program, and with `variables` beside those that are there.
///
/// # Errors
///
/// There is no such program, or it may not be run: with the exit code that a shell would give.
pub(super) fn spawn(
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, impl AsRef<OsStr>)>,
) -> Result<Child, CommandError> {
    let [program, args @ ..] = command else {
        return Err(CommandError::new(Exit::Usage, "no program is named"));
    };
    let spawned = Command::new(program).args(args).envs(variables).spawn();
    spawned.map_err(|error| {
        let exit = match error.kind() {
            ErrorKind::NotFound => Exit::Child(NO_SUCH_PROGRAM),
            ErrorKind::PermissionDenied => Exit::Child(NOT_EXECUTABLE),
            _ => Exit::Exec,
        };
        let message = format!("cannot run {}", program.display());
        CommandError::new(exit, message).cause(error.to_string())
    })
}

pub(super) fn pass(child: &Child, signal: Signal) {
    let number = child.id().and_then(|it| i32::try_from(it).ok());
    if let Some(process) = number.and_then(rustix::process::Pid::from_raw) {
        // It may have ended just now.
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// What a shell would give for it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or(status.signal().map(|it| SIGNALLED + it))
        .unwrap_or_default();
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_a_signal_ended_gives_what_a_shell_would() {
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(code(ExitStatus::from_raw(0)), 0);
        assert_eq!(code(ExitStatus::from_raw(15)), 143);
    }
}
