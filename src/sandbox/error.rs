//! Errors of the sandbox.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error("invalid sandbox name \"{0}\": use at most 30 lower-case letters, digits and dashes")]
    Name(String),
    #[error("cannot {what}")]
    Io {
        what: String,
        source: std::io::Error,
    },
    #[error("cannot read {}", path.display())]
    State {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("Go is not installed; it is needed to build the sandbox")]
    NoGo,
    #[error("{found} is too old to build the sandbox; Go 1.26 or newer is needed")]
    OldGo { found: String },
    #[error("cannot build {program}")]
    Build { program: String, output: String },
    #[error("{} lacks {}", folder.display(), programs.join(", "))]
    Missing {
        folder: PathBuf,
        programs: Vec<String>,
    },
    #[error("another kvshoot{} is {what}", holder.as_ref().map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Busy { what: String, holder: Option<u32> },
    #[error("{name} exited soon after it was started")]
    Ended {
        name: String,
        log: PathBuf,
        tail: String,
    },
    #[error("{what} not ready after {seconds} s")]
    Slow {
        what: String,
        seconds: u64,
        last: String,
    },
    #[error("`kubectl {args}` failed")]
    Kubectl { args: String, stderr: String },
    #[error("sandbox \"{0}\" is not running")]
    NotRunning(String),
    #[error("sandbox \"{name}\" was created {with} CDI's controllers")]
    OtherMode { name: String, with: &'static str },
    #[error("sandbox \"{0}\" has data of an incompatible older kvshoot")]
    Older(String),
    #[error("process {0} did not exit after SIGKILL")]
    Immortal(u32),
    #[error(transparent)]
    Pki(#[from] crate::pki::PkiError),
}

/// Adds to an I/O error what was being done.
pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> SandboxError {
    let what = what.into();
    move |source| SandboxError::Io { what, source }
}
