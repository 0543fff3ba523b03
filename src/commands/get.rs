use super::{CommandError, Context, Exit};

/// Print a cluster as it was applied
#[derive(Debug, clap::Args)]
pub(super) struct GetArgs {}

pub(super) fn run(_args: &GetArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
