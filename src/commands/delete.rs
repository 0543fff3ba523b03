use super::{CommandError, Context, Exit};

/// Delete a cluster, and prove that nothing is left
#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {}

pub(super) fn run(_args: &DeleteArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
