//! Child processes: environment, signals and exit codes.

use crate::app::error::{CommandError, Exit};
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, IsTerminal as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use tokio::process::{Child, Command};

pub(crate) use rustix::process::Signal;

/// Exit codes of shells.
const NOT_EXECUTABLE: u8 = 126;
const NO_SUCH_PROGRAM: u8 = 127;
const SIGNALLED: i32 = 128;

/// Starts a command with the streams and the environment of this process, and additional `variables`.
///
/// # Errors
///
/// The program does not exist or is not executable; the exit code is that of a shell.
pub(crate) fn spawn(
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, impl AsRef<OsStr>)>,
) -> Result<Child, CommandError> {
    let [program, args @ ..] = command else {
        return Err(CommandError::new(Exit::Usage, "no command given"));
    };
    let mut child = Command::new(program);
    child.args(args).envs(variables);
    // A terminal sends its signals to the group of this process.
    if !std::io::stdin().is_terminal() {
        child.process_group(0);
    }
    let spawned = child.spawn();
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

/// Sends a signal to a child, and to all processes of its group if it has a group of its own.
pub(crate) fn send(child: &Child, signal: Signal) {
    let number = child.id().and_then(|it| i32::try_from(it).ok());
    if let Some(process) = number.and_then(rustix::process::Pid::from_raw)
        && rustix::process::kill_process_group(process, signal).is_err()
    {
        // It has no group of its own, or has just ended.
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// The exit code that a shell would return.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
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
    fn a_signal_has_the_exit_code_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(0)), 0);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
    }
}
