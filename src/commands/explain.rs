use super::{CommandError, Context, Exit};

/// Describe a field of a manifest
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArgs {}

/// Print the JSON schema of a kind of manifest
#[derive(Debug, clap::Args)]
pub(super) struct SchemaArgs {}

pub(super) fn run(_args: &ExplainArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}

pub(super) fn schema(_args: &SchemaArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
