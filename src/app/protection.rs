//! Protecting shoots from deletion.

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::inspect::shoot_summary::find;
use super::provider::connect::connect;
use crate::cluster::RecordSeen;
use crate::state::names::PROTECTED;
use serde_json::{Value, json};

/// Protects a shoot; `reason` is shown to users whose deletion is refused.
pub(crate) fn protect(name: &str, reason: &str, context: &Context) -> Result<Exit, CommandError> {
    annotate(name, json!(reason), "protected", context)
}

/// Removes the protection of a shoot.
pub(crate) fn unprotect(name: &str, context: &Context) -> Result<Exit, CommandError> {
    annotate(name, Value::Null, "unprotected", context)
}

fn annotate(name: &str, value: Value, verb: &str, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let provider = connect(context).await?;
        let record = find(&provider, name, context).await?;
        let annotated = provider
            .annotate(&record, json!({ PROTECTED: value }))
            .await;
        annotated.map_err(failed)?;
        context
            .ui
            .data(&format!("shoot.core.gardener.cloud/{name} {verb}\n"));
        Ok(Exit::Done)
    })?
}

/// Returns the message of a protected shoot, with the reason.
pub(crate) fn message(record: &RecordSeen, name: &str) -> Option<String> {
    Some(match record.annotations.get(PROTECTED)?.as_str() {
        "" => format!("shoot {name} is protected"),
        reason => format!("shoot {name} is protected: {reason}"),
    })
}

/// # Errors
///
/// The shoot is protected.
pub(crate) fn check(
    record: &RecordSeen,
    name: &str,
    context: &Context,
) -> Result<(), CommandError> {
    let Some(message) = message(record, name) else {
        return Ok(());
    };
    let unprotect = context.hint_command(&["unprotect", name]);
    let hint = format!("to allow its deletion: {unprotect}");
    Err(CommandError::new(Exit::Declined, message).hint(hint))
}
