//! Why something cannot be done.

/// The reason why something cannot be done, with its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: ErrorClass,
    /// A lower-case fragment that names the object and the cause.
    pub(crate) message: String,
}

/// Class of an error, derived from the typed status of a response, never from its text. Determines the exit code and
/// Gardener's error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ErrorClass {
    /// A permission is missing: 401 or 403.
    NotAllowed,
    /// 403 of the quota admission.
    Quota,
    /// An object of that name exists and does not belong to the shoot.
    Foreign,
    /// A prerequisite does not exist: a shared network, an installed API.
    Missing,
    /// The server or a webhook rejects the object.
    Refused,
    /// KubeVirt, CDI, storage or the scheduler cannot do it.
    Infrastructure,
    /// A machine runs, but its node does not join or does not become ready.
    Guest,
    /// The API server did not answer within the time limit.
    Unreachable,
}

impl Failure {
    pub(crate) fn new(class: ErrorClass, message: impl Into<String>) -> Failure {
        Failure {
            class,
            message: message.into(),
        }
    }
}

impl ErrorClass {
    /// Gardener's error code, as in `lastErrors`.
    pub(crate) fn gardener_code(self) -> Option<&'static str> {
        match self {
            ErrorClass::NotAllowed => Some("ERR_INFRA_UNAUTHORIZED"),
            ErrorClass::Quota => Some("ERR_INFRA_QUOTA_EXCEEDED"),
            ErrorClass::Missing | ErrorClass::Foreign | ErrorClass::Refused => {
                Some("ERR_CONFIGURATION_PROBLEM")
            }
            ErrorClass::Infrastructure | ErrorClass::Guest => Some("ERR_INFRA_DEPENDENCIES"),
            ErrorClass::Unreachable => None,
        }
    }
}
