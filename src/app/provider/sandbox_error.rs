//! Errors of the sandbox with their exit codes and hints.

use crate::app::context::DEFAULT_SANDBOX;
use crate::app::error::{CommandError, Exit};
use crate::sandbox::SandboxError;

/// Each control plane process needs an inotify instance per certificate; the default limit is 128 per user.
pub(super) const RAISE_INOTIFY: &str =
    "raise the limit: sudo sysctl -w fs.inotify.max_user_instances=1024";

/// The error of the command, with what to do.
pub(super) fn failure(error: SandboxError) -> CommandError {
    let exit = match &error {
        SandboxError::Name(_) => Exit::Usage,
        SandboxError::Busy { .. } => Exit::Held,
        SandboxError::NotRunning(_) | SandboxError::NoSuchFault(_) => Exit::NotFound,
        SandboxError::Slow { .. } => Exit::Timeout,
        SandboxError::NoGo
        | SandboxError::NoUserNamespaces { .. }
        | SandboxError::OldGo { .. }
        | SandboxError::ClockLimit
        | SandboxError::FixedClock
        | SandboxError::NoPrograms { .. }
        | SandboxError::WrongDigest { .. }
        | SandboxError::Archive { .. }
        | SandboxError::Missing { .. }
        | SandboxError::NoGuestPrograms { .. }
        | SandboxError::NoKvm(_)
        | SandboxError::OtherGuests(_)
        | SandboxError::OtherMode { .. }
        | SandboxError::Older(_)
        | SandboxError::Io { .. }
        | SandboxError::State { .. } => Exit::Precondition,
        SandboxError::Build { .. }
        | SandboxError::Ended { .. }
        | SandboxError::Kubectl { .. }
        | SandboxError::Immortal(_) => Exit::Infrastructure,
        SandboxError::Pki(_) => Exit::Bug,
    };
    let mut converted = CommandError::new(exit, error.to_string());
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        converted = converted.cause(cause.to_string());
        source = cause.source();
    }
    let converted = match error.is_disk_full() {
        true => converted.hint(
            "free disk space, or set XDG_STATE_HOME and XDG_CACHE_HOME to directories with more",
        ),
        false => converted,
    };
    match error {
        SandboxError::NoGo | SandboxError::OldGo { .. } => converted
            .hint("install Go 1.26 or newer, which is needed to build the programs of the sandbox once")
            .hint("or copy them from another computer: kvshoot sandbox install --from DIR"),
        SandboxError::NoPrograms { failure } => converted
            .cause(failure)
            .hint("run the same command again to resume the download; --mirror URL selects another server")
            .hint("or install Go 1.26 or newer, which builds the programs once")
            .hint("or copy them from another computer: kvshoot sandbox install --from DIR"),
        SandboxError::WrongDigest { found, expected, .. } => converted
            .cause(format!("SHA-256 is {found}"))
            .cause(format!("this version of kvshoot expects {expected}"))
            .hint("the file was deleted and nothing of it was used; run the same command again")
            .hint("if this happens again, the server has another file: check --mirror, or build the programs with --build"),
        SandboxError::Archive { .. } => {
            converted.hint("build the programs instead: kvshoot sandbox install --build")
        }
        SandboxError::Build { output, .. } => converted
            .cause(last_lines(&output))
            .hint("run the same command again; programs that are already built are kept"),
        SandboxError::Ended { log, tail, .. } => {
            let has_no_watchers = tail.contains("inotify") || tail.contains("too many open files");
            let error = converted.cause(tail);
            let error = match has_no_watchers {
                true => error.hint(RAISE_INOTIFY),
                false => error,
            };
            error.hint(format!("complete log: {}", log.display()))
        }
        SandboxError::Slow { last, .. } => converted.cause(last),
        SandboxError::Kubectl { stderr, .. } => converted.cause(stderr),
        SandboxError::State { .. } => converted.hint("delete the data of the sandbox: kvshoot sandbox reset"),
        SandboxError::OtherMode { .. } | SandboxError::Older(_) => {
            converted.hint("run kvshoot sandbox reset first, or pass another --name")
        }
        SandboxError::NoGuestPrograms { packages, .. } => converted.hint(format!(
            "install them on Debian or Ubuntu: sudo apt-get install --no-install-recommends {}",
            packages.join(" ")
        )),
        SandboxError::NoKvm(_) => converted.hint("emulate the processor instead: --guests=emulate"),
        SandboxError::OtherGuests(_) => {
            converted.hint("stop it first; its machines start again: kvshoot sandbox down")
        }
        SandboxError::NoUserNamespaces { command, .. } => {
            let error = converted.cause("control plane pods need them for their root directory");
            let error = command.into_iter().fold(error, CommandError::hint);
            error.hint("or run kvshoot as root")
        }
        SandboxError::FixedClock => converted
            .hint("start it once more with the programs of this kvshoot: kvshoot sandbox down, kvshoot sandbox up")
            .hint("if they were built with a newer Go, build them with Go 1.26: kvshoot sandbox install --build"),
        SandboxError::NotRunning(name) => converted.hint(match name.as_str() {
            DEFAULT_SANDBOX => "start it: kvshoot sandbox up".to_owned(),
            name => format!("start it: kvshoot sandbox up --name={name}"),
        }),
        _ => converted,
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
