//! Results of checks.

use crate::cluster::Error;
use crate::state::printable::shortened;

/// The longest text of a pod that is quoted, in bytes.
const QUOTED: usize = 300;

/// The result of a check. Texts are lower-case fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckOutcome {
    Passed(String),
    /// It works in part: not for all users, or not at the first attempt.
    Warning(String),
    Failed(String),
    /// The cluster does not have what the check is about.
    Skipped(String),
}

/// Why a check failed.
#[derive(Debug)]
pub(in crate::cluster) struct CheckFailure(pub(in crate::cluster) String);

impl From<Error> for CheckFailure {
    fn from(error: Error) -> CheckFailure {
        CheckFailure(error.to_string())
    }
}

/// Text of a pod, as part of a message.
pub(super) fn quoted(text: &str) -> String {
    shortened(text, QUOTED)
}
