//! Location and owner of a shoot's objects.

use crate::state::facts::Facts;
use crate::validate::ValidShoot;

/// Placeholder for the record's UID before the record exists.
pub(crate) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Location and owner of a shoot's objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    /// The technical ID.
    pub(crate) id: &'a str,
    pub(crate) namespace: &'a str,
    /// UID of the record.
    pub(crate) uid: &'a str,
}

impl<'a> Site<'a> {
    pub(crate) fn of(shoot: &'a ValidShoot, facts: &'a Facts) -> Site<'a> {
        Site {
            id: &shoot.id,
            namespace: &facts.namespace,
            uid: facts.record.as_ref().map_or(NO_UID, |it| &it.uid),
        }
    }
}
