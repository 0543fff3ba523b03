use super::{CommandError, Context, Exit};

/// Work with the machines of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct NodesArgs {}

pub(super) fn run(_args: &NodesArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
