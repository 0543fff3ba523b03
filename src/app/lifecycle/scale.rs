//! `kvshoot scale`: sizes of pools, within the bounds of the manifest.

use super::recorded::{RecordedChange, shoot_name};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::run::session::RunOptions;
use crate::cluster::RecordSnapshot;
use crate::state::desired::SizesByPool;
use crate::state::record::{SIZES, SizeRefusal, scaled};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Options of `kvshoot scale`.
#[derive(Debug)]
pub(crate) struct ScaleOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// Sizes by name of the pool; at least one.
    pub(crate) sizes: BTreeMap<String, usize>,
    pub(crate) run: RunOptions,
}

/// Changes the sizes of pools, and waits until they have them.
pub(crate) fn scale(options: &ScaleOptions, context: &Context) -> Result<Exit, CommandError> {
    let change = RecordedChange {
        verb: "scale",
        subject: &shoot_name(&options.name),
        done: "scaled",
        name: &options.name,
        run: options.run,
    };
    change.execute(context, async |_, record, shoot| {
        let before = sizes(record);
        let after = scaled(&shoot.pools, &before, &options.sizes);
        let after = after.map_err(|it| refused(&it, &options.name))?;
        Ok(size_change(&before, &after))
    })
}

/// The change of the record; None if nothing changes.
pub(crate) fn size_change(before: &SizesByPool, after: &SizesByPool) -> Option<Value> {
    let text = serde_json::to_string(after).expect("names and numbers");
    (after != before).then(|| json!({ SIZES: text }))
}

/// The sizes in a record; none if they are not readable.
pub(crate) fn sizes(record: &RecordSnapshot) -> SizesByPool {
    let text = record.data.get(SIZES);
    let sizes = text.and_then(|text| serde_json::from_str(text).ok());
    sizes.unwrap_or_default()
}

fn refused(refusal: &SizeRefusal, name: &str) -> CommandError {
    let error = CommandError::new(
        Exit::Precondition,
        format!("cannot scale shoot {name}: {refusal}"),
    );
    match refusal {
        SizeRefusal::Unknown { .. } => error,
        SizeRefusal::Fixed { .. } => {
            error.hint("set minimum below maximum in the manifest, or change both, and apply it")
        }
        SizeRefusal::OutOfBounds { .. } => {
            error.hint("change minimum or maximum in the manifest, and apply it first")
        }
    }
}
