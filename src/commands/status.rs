use super::{CommandError, Context, Exit};

/// Show how a cluster is
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {}

pub(super) fn run(_args: &StatusArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
