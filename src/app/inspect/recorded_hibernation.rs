//! The hibernation of a shoot, as its record has it.

use crate::app::error::{CommandError, Exit};
use crate::cluster::RecordSnapshot;
use crate::state::names::display_name;
use crate::state::record::hibernation::{HIBERNATION, HibernationRecord};

/// The hibernation in a record.
///
/// # Errors
///
/// It is not readable.
pub(crate) fn hibernation(record: &RecordSnapshot) -> Result<HibernationRecord, CommandError> {
    let Some(text) = record.data.get(HIBERNATION) else {
        return Ok(HibernationRecord::default());
    };
    serde_json::from_str(text).map_err(|error| {
        let name = display_name(&record.name);
        let message = format!("cannot read {HIBERNATION} in the record of shoot {name}: {error}");
        CommandError::new(Exit::Precondition, message)
    })
}
