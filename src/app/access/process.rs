//! Child processes: environment, signals and exit codes.

use crate::app::error::{CommandError, Exit};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use tokio::process::{Child, Command};

pub(crate) use rustix::process::Signal;

/// Exit codes of shells.
const NOT_EXECUTABLE: u8 = 126;
const NO_SUCH_PROGRAM: u8 = 127;
const SIGNALLED: i32 = 128;

/// Variables that select the provider cluster and its credentials.
const PROVIDER_VARIABLES: [&str; 7] = [
    "KVSHOOT_KUBECONFIG",
    "KVSHOOT_CONTEXT",
    "KVSHOOT_CLUSTER",
    "KVSHOOT_USER",
    "KVSHOOT_SANDBOX",
    "KVSHOOT_ALLOW_EXEC",
    "KVSHOOT_ALLOW_FILES",
];

/// Starts a command with the streams and the environment of this process, and additional `variables`. Variables that
/// select the provider cluster are removed before, unless `inherits_provider`; so is KUBECONFIG.
///
/// # Errors
///
/// The program does not exist or is not executable; the exit code is that of a shell.
pub(crate) fn spawn(
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, impl AsRef<OsStr>)>,
    inherits_provider: bool,
) -> Result<Child, CommandError> {
    let mut child = prepare(command, variables, inherits_provider)?;
    // A terminal sends its signals to the group of this process.
    if !std::io::stdin().is_terminal() {
        child.process_group(0);
    }
    start(child)
}

/// Starts a command like [`spawn`], in a group of its own, without input, with its output as a pipe, and its error output
/// written to a file.
///
/// # Errors
///
/// As of [`spawn`].
pub(crate) fn spawn_captured(
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, impl AsRef<OsStr>)>,
    errors: File,
) -> Result<Child, CommandError> {
    let mut child = prepare(command, variables, false)?;
    child.process_group(0).kill_on_drop(true);
    child
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors);
    start(child)
}

fn prepare(
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, impl AsRef<OsStr>)>,
    inherits_provider: bool,
) -> Result<Command, CommandError> {
    let [program, args @ ..] = command else {
        return Err(CommandError::new(Exit::Usage, "no command given"));
    };
    let mut child = Command::new(program);
    child.env_remove("KUBECONFIG");
    if !inherits_provider {
        for variable in PROVIDER_VARIABLES {
            child.env_remove(variable);
        }
    }
    child.args(args).envs(variables);
    Ok(child)
}

fn start(mut command: Command) -> Result<Child, CommandError> {
    command.spawn().map_err(|error| {
        let exit = match error.kind() {
            ErrorKind::NotFound => Exit::Child(NO_SUCH_PROGRAM),
            ErrorKind::PermissionDenied => Exit::Child(NOT_EXECUTABLE),
            _ => Exit::Exec,
        };
        let program = command.as_std().get_program();
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
    use std::io::{BufRead as _, BufReader};
    use std::path::Path;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    /// Lines that are written to a named pipe, which is created.
    fn lines_of(pipe: &Path) -> Receiver<String> {
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(made.unwrap().success());
        let (sender, lines) = channel();
        let pipe = pipe.to_owned();
        std::thread::spawn(move || {
            for line in BufReader::new(std::fs::File::open(pipe).unwrap()).lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        lines
    }

    #[tokio::test]
    async fn signals_reach_the_processes_that_a_command_has_started() {
        // HUP and INT may be ignored where the tests run, by nohup or a shell; then a shell cannot trap them.
        for (signal, name) in [(Signal::USR1, "USR1"), (Signal::TERM, "TERM")] {
            let directory = tempfile::tempdir().unwrap();
            let pipe = directory.path().join("pipe");
            let lines = lines_of(&pipe);
            let next = || lines.recv_timeout(Duration::from_secs(60)).unwrap();
            let inner = format!(
                "exec 3>\"$OUT\"; trap \"echo got {name} >&3; exit\" {name}; echo ready >&3; while :; do sleep 0.01; done"
            );
            let script = format!("sh -c '{inner}' & wait");
            let command = ["sh", "-c", &script].map(OsString::from);
            let mut command = prepare(&command, [("OUT", &pipe)], false).unwrap();
            command.process_group(0);
            let mut child = start(command).unwrap();
            assert_eq!(next(), "ready");
            send(&child, signal);
            assert_eq!(next(), format!("got {name}"));
            let _ = child.wait().await;
        }
    }

    #[test]
    fn a_signal_has_the_exit_code_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(0)), 0);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
    }
}
