use super::provider::{self, failed};
use super::shoots::find;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::RecordSnapshot;
use crate::plan::names::PROTECTED;
use clap_complete::engine::ArgValueCompleter;
use serde_json::{Value, json};

/// Protect a cluster from delete and gc, which then refuse with exit code 12
#[derive(Debug, clap::Args)]
pub(super) struct ProtectArgs {
    /// Name of the shoot
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// Why; whoever is refused is told
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Let a cluster be deleted again
#[derive(Debug, clap::Args)]
pub(super) struct UnprotectArgs {
    /// Name of the shoot
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
}

pub(super) fn protect(args: &ProtectArgs, context: &Context) -> Result<Exit, CommandError> {
    mark(&args.name, json!(args.reason), "protected", context)
}

pub(super) fn unprotect(args: &UnprotectArgs, context: &Context) -> Result<Exit, CommandError> {
    mark(&args.name, Value::Null, "unprotected", context)
}

fn mark(name: &str, mark: Value, verb: &str, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let provider = provider::connect(context).await?;
        let record = find(&provider, name).await?;
        let annotated = provider.annotate(&record, json!({ PROTECTED: mark })).await;
        annotated.map_err(failed)?;
        context
            .ui
            .data(&format!("shoot.core.gardener.cloud/{name} {verb}\n"));
        Ok(Exit::Done)
    })?
}

/// That a shoot is protected, and why.
pub(super) fn protection(record: &RecordSnapshot, name: &str) -> Option<String> {
    Some(match record.annotations.get(PROTECTED)?.as_str() {
        "" => format!("shoot {name} is protected"),
        reason => format!("shoot {name} is protected: {reason}"),
    })
}

/// # Errors
///
/// It is protected: says why, and how to take that back.
pub(super) fn check(record: &RecordSnapshot, name: &str) -> Result<(), CommandError> {
    let Some(message) = protection(record, name) else {
        return Ok(());
    };
    let hint = format!("kvshoot unprotect {name} lets it be deleted");
    Err(CommandError::new(Exit::Declined, message).hint(hint))
}
