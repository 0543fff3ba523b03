//! Steps of a rotation.

use super::credential::Credential;
use super::generation::KeyContent;
use serde::{Deserialize, Serialize};

/// A step of a rotation, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum RotationStep {
    /// The new one is trusted and not used.
    Trust,
    /// The new one is used, and the old one is trusted. Servers keep certificates of the old root, since kubeconfigs of
    /// users know no other.
    Use,
    /// Stored objects are written again with the new key.
    Rewrite,
    /// Pods of system components are restarted, so that they have tokens of the new key.
    Restart,
    /// It is up to the users: their credentials still depend on the old one.
    Prepared,
    /// Servers get certificates of the new root.
    Serve,
    /// The old one is removed.
    Drop,
    Completed,
}

impl RotationStep {
    /// The step after this one; None after the last one of a phase, and for steps that the credential does not have.
    pub(crate) fn next(self, credential: Credential) -> Option<RotationStep> {
        match self {
            RotationStep::Trust => Some(RotationStep::Use),
            RotationStep::Use if credential == Credential::EncryptionKey => {
                Some(RotationStep::Rewrite)
            }
            RotationStep::Use if credential == Credential::ServiceAccountKey => {
                Some(RotationStep::Restart)
            }
            RotationStep::Use | RotationStep::Rewrite | RotationStep::Restart => {
                Some(RotationStep::Prepared)
            }
            RotationStep::Serve => Some(RotationStep::Drop),
            RotationStep::Drop => Some(RotationStep::Completed),
            RotationStep::Prepared | RotationStep::Completed => None,
        }
    }

    /// Only the API server's root has clients that kvshoot does not know.
    pub(crate) fn first_of_completion(credential: Credential) -> RotationStep {
        match credential {
            Credential::Ca => RotationStep::Serve,
            _ => RotationStep::Drop,
        }
    }

    pub(crate) fn content(self) -> KeyContent {
        match self {
            RotationStep::Trust => KeyContent::Announced,
            RotationStep::Use
            | RotationStep::Rewrite
            | RotationStep::Restart
            | RotationStep::Prepared
            | RotationStep::Serve => KeyContent::Leading,
            RotationStep::Drop | RotationStep::Completed => KeyContent::Alone,
        }
    }

    /// The phase as Gardener's status has it.
    pub(crate) fn phase(self) -> &'static str {
        match self {
            RotationStep::Trust
            | RotationStep::Use
            | RotationStep::Rewrite
            | RotationStep::Restart => "Preparing",
            RotationStep::Prepared => "Prepared",
            RotationStep::Serve | RotationStep::Drop => "Completing",
            RotationStep::Completed => "Completed",
        }
    }

    /// True while runs have something to do for it.
    pub(crate) fn is_active(self) -> bool {
        !matches!(self, RotationStep::Prepared | RotationStep::Completed)
    }
}
