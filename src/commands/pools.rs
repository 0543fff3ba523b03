use super::{CommandError, Context, Exit};

/// Work with the pools of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct PoolsArgs {}

pub(super) fn run(_args: &PoolsArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
