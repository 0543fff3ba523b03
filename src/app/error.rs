//! Errors of commands: the message, its causes, hints and an exit code.

use crate::cluster::{Error, Retryability};
use crate::state::failure::ErrorClass;
use crate::ui::{BUG_EXIT_CODE, ErrorMessage, Refused, Ui};

/// Exit codes. Scripts rely on them, so that their meaning never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// A negative result: changes found, not ready, or missing.
    No,
    Usage,
    /// A manifest is invalid, whichever command reads it.
    Manifest,
    /// A precondition failed, and nothing was changed.
    Precondition,
    /// Partly done; the same command resumes.
    Partly,
    /// Another run holds the lock of the shoot.
    Held,
    NotFound,
    NotAllowed,
    /// KubeVirt, CDI, storage or the scheduler failed.
    Infrastructure,
    /// A machine did not join the cluster.
    Guest,
    /// Objects remain after a deletion.
    Leftovers,
    /// The shoot is protected, or the prompt was declined.
    Declined,
    /// A bug in kvshoot.
    Bug,
    Timeout,
    /// `exec` or `run` failed before or after the command.
    Exec,
    Interrupted,
    Terminated,
    /// The exit code of a command that was run.
    Child(u8),
}

impl Exit {
    pub(crate) const ALL: [Exit; 18] = [
        Exit::Done,
        Exit::No,
        Exit::Usage,
        Exit::Manifest,
        Exit::Precondition,
        Exit::Partly,
        Exit::Held,
        Exit::NotFound,
        Exit::NotAllowed,
        Exit::Infrastructure,
        Exit::Guest,
        Exit::Leftovers,
        Exit::Declined,
        Exit::Bug,
        Exit::Timeout,
        Exit::Exec,
        Exit::Interrupted,
        Exit::Terminated,
    ];

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Manifest => 3,
            Exit::Precondition => 4,
            Exit::Partly => 5,
            Exit::Held => 6,
            Exit::NotFound => 7,
            Exit::NotAllowed => 8,
            Exit::Infrastructure => 9,
            Exit::Guest => 10,
            Exit::Leftovers => 11,
            Exit::Declined => 12,
            Exit::Bug => BUG_EXIT_CODE,
            Exit::Timeout => 124,
            Exit::Exec => 125,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::Child(code) => code,
        }
    }

    /// The text of `kvshoot help exit-codes`.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "success",
            Exit::No => "negative result: there are changes, not ready, or something is missing",
            Exit::Usage => "invalid command line",
            Exit::Manifest => "invalid manifest",
            Exit::Precondition => "precondition failed; nothing was changed",
            Exit::Partly => "partly done; run the same command again to resume",
            Exit::Held => "another run holds the lock of the shoot",
            Exit::NotFound => "not found",
            Exit::NotAllowed => "permission denied in the provider cluster",
            Exit::Infrastructure => "KubeVirt, CDI, storage, quota or scheduling failed",
            Exit::Guest => "a machine is running but did not join the cluster",
            Exit::Leftovers => "delete left objects, and listed them",
            Exit::Declined => "the shoot is protected, or the prompt was declined",
            Exit::Bug => "bug in kvshoot",
            Exit::Timeout => "timed out; run the same command again to resume",
            Exit::Exec => "exec or run failed; otherwise they exit with the code of the command",
            Exit::Interrupted => "interrupted (SIGINT); run the same command again to resume",
            Exit::Terminated => "terminated (SIGTERM); run the same command again to resume",
            Exit::Child(_) => "exit code of the command",
        }
    }

    /// Returns the exit code of a failed action. `changed` is true if something was changed before.
    pub(crate) fn of_class(class: ErrorClass, changed: bool) -> Exit {
        match class {
            ErrorClass::NotAllowed => Exit::NotAllowed,
            ErrorClass::Foreign | ErrorClass::Missing | ErrorClass::Unreachable if changed => {
                Exit::Partly
            }
            ErrorClass::Foreign | ErrorClass::Missing | ErrorClass::Unreachable => {
                Exit::Precondition
            }
            ErrorClass::Quota | ErrorClass::Refused | ErrorClass::Infrastructure => {
                Exit::Infrastructure
            }
            ErrorClass::Guest => Exit::Guest,
        }
    }
}

/// An error of a command. Message and causes are lower-case fragments; hints are commands or sentences.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hints: Vec<String>,
    /// Everything was reported already; only the exit code remains.
    pub(crate) silent: bool,
}

impl CommandError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            silent: false,
        }
    }

    /// Ends the command with an exit code. The error was reported elsewhere.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self {
            silent: true,
            ..Self::new(exit, "")
        }
    }

    /// The error of a prompt that was not confirmed; `flags` confirm without a prompt.
    pub(crate) fn refused(refused: Refused, what: &str, flags: &str) -> Self {
        match refused {
            Refused::Declined => Self::new(Exit::Declined, format!("declined to {what}")),
            Refused::NotInteractive => Self::new(
                Exit::Usage,
                format!("cannot {what} without confirmation: not a terminal"),
            )
            .hint(format!("pass {flags} to confirm")),
        }
    }

    /// Prints the error and returns its exit code.
    pub(crate) fn report(&self, ui: &Ui) -> Exit {
        if !self.silent {
            ui.failure(ErrorMessage {
                message: &self.message,
                causes: &self.causes,
                hints: &self.hints,
            });
        }
        self.exit
    }

    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// Converts an error of an API server to an error of the command.
pub(crate) fn failed(error: Error) -> CommandError {
    let converted = CommandError::new(exit_of(&error), error.to_string());
    match &error {
        Error::KubeconfigNotFound(_) => converted.hint("pass --kubeconfig or set KUBECONFIG").hint(
            "to try kvshoot without a provider cluster: kvshoot sandbox up, then pass --sandbox",
        ),
        Error::ExecNotAllowed { .. } => converted.hint("pass --allow-exec to allow it"),
        Error::NamespaceNotFound(_) => converted.hint("pass --create-namespace to kvshoot apply"),
        Error::Forbidden { what, .. }
            if &*what.resource == "namespaces" && what.verb == "create" =>
        {
            converted.hint(format!(
                "ask an administrator of the provider cluster to run: kubectl create namespace {}",
                what.name.as_deref().unwrap_or("NAME")
            ))
        }
        Error::LeaseHeld { .. } => converted.hint("pass --lock-timeout 10m to wait for it"),
        Error::NotOwned { .. } => {
            converted.hint("rename the shoot, or delete that object if it is not needed")
        }
        _ => converted,
    }
}

fn exit_of(error: &Error) -> Exit {
    match error {
        Error::KubeconfigNotFound(_)
        | Error::InvalidKubeconfig(_)
        | Error::ExecNotAllowed { .. }
        | Error::Untrusted { .. }
        | Error::Missing(_)
        | Error::NamespaceNotFound(_)
        | Error::UnorderedVersion { .. } => Exit::Precondition,
        Error::LeaseHeld { .. } => Exit::Held,
        Error::LeaseLost { .. } => Exit::Partly,
        Error::NotFound { .. } => Exit::NotFound,
        other => match other.retryability() {
            Retryability::Fatal(class) => Exit::of_class(class, false),
            Retryability::Retry | Retryability::Replan => Exit::Precondition,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_namespace_names_the_command_of_the_administrator() {
        let what = crate::cluster::RequestInfo {
            verb: "create",
            resource: "namespaces".into(),
            kind: "Namespace".into(),
            name: Some("lab".into()),
            namespace: None,
        };
        let message = "no".to_owned();
        let error = failed(Error::Forbidden { what, message });
        assert_eq!(error.exit, Exit::NotAllowed);
        let hints = error.hints.join("\n");
        assert!(hints.contains("kubectl create namespace lab"), "{hints}");
    }
}
