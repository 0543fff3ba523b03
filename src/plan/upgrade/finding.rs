//! Results of the checks.

use crate::state::upgrade::UpgradeCheck;

/// A reason against an upgrade, with its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UpgradeFinding {
    pub(crate) check: UpgradeCheck,
    /// Kind and name.
    pub(crate) object: String,
    /// The fault, as predicate of the object.
    pub(crate) problem: String,
    pub(crate) remedy: String,
    /// The upgrade is refused; otherwise it is only a warning.
    pub(crate) refuses: bool,
}

impl UpgradeFinding {
    pub(super) fn error(
        check: UpgradeCheck,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> UpgradeFinding {
        UpgradeFinding {
            check,
            object: object.into(),
            problem: problem.into(),
            remedy: remedy.into(),
            refuses: true,
        }
    }

    pub(super) fn warning(
        check: UpgradeCheck,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> UpgradeFinding {
        UpgradeFinding {
            refuses: false,
            ..UpgradeFinding::error(check, object, problem, remedy)
        }
    }
}
