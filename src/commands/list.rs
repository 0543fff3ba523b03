use super::{CommandError, Context, Exit};

/// List clusters
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {}

pub(super) fn run(_args: &ListArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
