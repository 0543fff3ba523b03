//! What a sandbox fails of.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error("`{0}` is no name for a sandbox: lower-case letters, digits and dashes, at most 30")]
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
    #[error("there is no Go to build the sandbox with")]
    NoGo,
    #[error("Go {found} is too old to build the sandbox with")]
    OldGo { found: String },
    #[error("cannot build {program}")]
    Build { program: String, output: String },
    #[error("{} lacks {}", folder.display(), programs.join(", "))]
    Missing {
        folder: PathBuf,
        programs: Vec<String>,
    },
    #[error("another kvshoot{} is at {what}", holder.as_ref().map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Busy { what: String, holder: Option<u32> },
    #[error("{name} ended soon after its start")]
    Ended {
        name: String,
        log: PathBuf,
        tail: String,
    },
    #[error("{what} did not come within {seconds} s")]
    Slow {
        what: String,
        seconds: u64,
        last: String,
    },
    #[error("`kubectl {args}` failed")]
    Kubectl { args: String, stderr: String },
    #[error("the sandbox `{0}` is not running")]
    NotRunning(String),
    #[error("the sandbox `{name}` was made {with} real CDI controllers")]
    OtherMode { name: String, with: &'static str },
    #[error("the sandbox `{0}` holds data of an earlier kvshoot")]
    Older(String),
    #[error("process {0} does not end")]
    Immortal(u32),
    #[error(transparent)]
    Pki(#[from] crate::pki::PkiError),
}

/// Says what was being done when the system refused.
pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> SandboxError {
    let what = what.into();
    move |source| SandboxError::Io { what, source }
}
