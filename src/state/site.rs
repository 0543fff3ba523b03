//! Where the objects of a shoot stand.

use crate::state::facts::Facts;
use crate::validate::ValidShoot;

/// Stands where a record's UID will stand, before there is a record.
pub(crate) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Where the objects of a shoot stand.
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
