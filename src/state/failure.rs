//! Why something cannot be done.

/// Why something cannot be done, and whose matter that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    /// A lower-case fragment that names the object and the cause.
    pub(crate) message: String,
}

/// Judged by the typed status of an answer, never by its text; decides the exit code and Gardener's error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A right is missing: 401 or 403.
    NotAllowed,
    /// 403 of the quota admission.
    Quota,
    /// An object of the name is there and is not ours.
    Foreign,
    /// Something that has to be there is not: a shared network, an installed API.
    Missing,
    /// The server or one of its webhooks refuses the object as it is.
    Refused,
    /// KubeVirt, CDI, storage or the scheduler cannot do it.
    Infrastructure,
    /// A machine runs, and its node does not join or does not become ready.
    Guest,
    /// No answer from the API server in all the time there was.
    Unreachable,
}

impl Failure {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Failure {
        Failure {
            class,
            message: message.into(),
        }
    }
}

impl Class {
    /// The code that Gardener gives such an error, as its `last errors` have it.
    pub(crate) fn gardener_code(self) -> Option<&'static str> {
        match self {
            Class::NotAllowed => Some("ERR_INFRA_UNAUTHORIZED"),
            Class::Quota => Some("ERR_INFRA_QUOTA_EXCEEDED"),
            Class::Missing | Class::Foreign | Class::Refused => Some("ERR_CONFIGURATION_PROBLEM"),
            Class::Infrastructure | Class::Guest => Some("ERR_INFRA_DEPENDENCIES"),
            Class::Unreachable => None,
        }
    }
}
