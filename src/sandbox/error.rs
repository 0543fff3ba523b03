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
    #[error("cannot download the programs of the sandbox, and Go is not installed to build them")]
    NoPrograms { failure: String },
    #[error("digest mismatch for {url}")]
    WrongDigest {
        url: String,
        found: String,
        expected: String,
    },
    #[error("{name} is not an archive of the sandbox's programs: {reason}")]
    Archive { name: String, reason: String },
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
    #[error("no injected fault is called `{0}`; `kvshoot sandbox fail list` shows them")]
    NoSuchFault(String),
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
    #[error("the clock of a sandbox cannot move beyond 2044, when its certificates expire")]
    ClockLimit,
    #[error("the programs of this sandbox have no clock that can be moved")]
    FixedClock,
    #[error("sandbox \"{0}\" is not running")]
    NotRunning(String),
    #[error("sandbox \"{name}\" was created {with} CDI's controllers")]
    OtherMode { name: String, with: &'static str },
    #[error("sandbox \"{0}\" has data of an incompatible older kvshoot")]
    Older(String),
    #[error("user namespaces are disabled: {reason}")]
    NoUserNamespaces {
        reason: String,
        /// A command that enables them.
        command: Option<&'static str>,
    },
    #[error("{} not installed; virtual machines need {}", are(programs), match programs.len() { 1 => "it", _ => "them" })]
    NoGuestPrograms {
        programs: Vec<String>,
        /// Packages of Debian and Ubuntu.
        packages: Vec<&'static str>,
    },
    #[error("virtual machines cannot use KVM: {0}")]
    NoKvm(String),
    #[error("sandbox \"{0}\" is running with other virtual machines")]
    OtherGuests(String),
    #[error("process {0} did not exit after SIGKILL")]
    Immortal(u32),
    #[error(transparent)]
    Pki(#[from] crate::pki::PkiError),
}

/// Names with the verb that agrees with their number.
fn are(names: &[String]) -> String {
    match names {
        [one] => format!("{one} is"),
        [some @ .., last] => format!("{} and {last} are", some.join(", ")),
        [] => String::new(),
    }
}

/// Adds to an I/O error what was being done.
pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> SandboxError {
    let what = what.into();
    move |source| SandboxError::Io { what, source }
}

impl SandboxError {
    /// Returns whether the operation failed because a file system is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        match self {
            SandboxError::Io { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded),
            SandboxError::Build { output: text, .. }
            | SandboxError::Ended { tail: text, .. }
            | SandboxError::Slow { last: text, .. }
            | SandboxError::Kubectl { stderr: text, .. } => {
                let text = text.to_lowercase();
                text.contains("no space left on device") || text.contains("disk quota exceeded")
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_recognized_in_errors_and_in_the_output_of_programs() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(io("write a file")(full).is_disk_full());
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(!io("read a file")(missing).is_disk_full());
        let tail = "mvcc: cannot commit tx: write db: no space left on device".to_owned();
        let ended = SandboxError::Ended {
            name: "etcd".to_owned(),
            log: PathBuf::from("etcd.log"),
            tail,
        };
        assert!(ended.is_disk_full());
    }
}
