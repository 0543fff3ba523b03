use super::{CommandError, Context, Exit};

/// Make a cluster, or bring it to what the manifest says
#[derive(Debug, clap::Args)]
pub(super) struct ApplyArgs {}

pub(super) fn run(_args: &ApplyArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
