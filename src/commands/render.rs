use super::{CommandError, Context, Exit};

/// Print every object that a first apply would create
#[derive(Debug, clap::Args)]
pub(super) struct RenderArgs {}

pub(super) fn run(_args: &RenderArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
