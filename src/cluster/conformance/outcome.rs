//! Results of checks.

use crate::cluster::Error;

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
