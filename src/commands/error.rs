//! What a command failed of, as a person reads it: the error, its causes, a hint, and an exit code.

use crate::ui::{BUG_EXIT_CODE, ErrorMessage, Refused, Ui};

/// The exit codes; scripts rely on them, so none ever changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The answer is no: there are changes, it is not ready, something is missing.
    No,
    Usage,
    /// A manifest is invalid, whichever command reads it.
    Manifest,
    /// A precondition failed, and nothing was changed.
    Precondition,
    /// Partly done; the same command goes on.
    Partly,
    /// Another run holds the shoot.
    Held,
    NotFound,
    NotAllowed,
    /// KubeVirt, CDI, storage or the scheduler could not do it.
    Infrastructure,
    /// A guest did not join.
    Guest,
    /// Delete left something.
    Leftovers,
    /// Protected, or declined at the prompt.
    Declined,
    /// A fault of kvshoot itself.
    Bug,
    Timeout,
    /// `exec` or `run` failed of itself, not of the program.
    Exec,
    Interrupted,
    Terminated,
    /// That of a program which was run.
    Child(u8),
}

impl Exit {
    pub(super) const ALL: [Exit; 18] = [
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

    /// As `kvshoot help exit-codes` tells it.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done, and nothing is left to do",
            Exit::No => {
                "the answer is no: there are changes, it is not ready, something is missing"
            }
            Exit::Usage => "the command line is wrong",
            Exit::Manifest => "a manifest is invalid",
            Exit::Precondition => "a precondition failed; nothing was changed",
            Exit::Partly => "partly done; the same command goes on",
            Exit::Held => "another run holds the shoot",
            Exit::NotFound => "not found",
            Exit::NotAllowed => "a right is missing in the provider cluster",
            Exit::Infrastructure => "KubeVirt, CDI, storage, quota or the scheduler cannot do it",
            Exit::Guest => "a machine runs, but did not join the shoot",
            Exit::Leftovers => "delete left something, and named it",
            Exit::Declined => "the shoot is protected, or the question was answered with no",
            Exit::Bug => "a fault of kvshoot itself",
            Exit::Timeout => "time was up; the same command goes on",
            Exit::Exec => "exec or run failed itself; the program gives its own code",
            Exit::Interrupted => "interrupted (SIGINT); the same command goes on",
            Exit::Terminated => "terminated (SIGTERM); the same command goes on",
            Exit::Child(_) => "that of the program which was run",
        }
    }
}

/// Message and causes are lower-case fragments; hints are whole commands or sentences.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hints: Vec<String>,
    /// All has been told already; only the exit code is left.
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

    /// Ends the command with a code; the words were said elsewhere.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self {
            silent: true,
            ..Self::new(exit, "")
        }
    }

    /// Of a question that got no yes; `flag` is what says yes where nobody can be asked.
    pub(crate) fn refused(refused: Refused, what: &str, flag: &str) -> Self {
        match refused {
            Refused::Declined => Self::new(Exit::Declined, format!("not told to {what}")),
            Refused::NotInteractive => Self::new(
                Exit::Usage,
                format!("cannot {what} without being told so, and there is nobody to ask"),
            )
            .hint(format!("say it by {flag}")),
        }
    }

    /// Says it to the person, and gives what to exit with.
    pub(super) fn tell(&self, ui: &Ui) -> Exit {
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
