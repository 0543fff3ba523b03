use super::{CommandError, Context, Exit};

/// Work with the golden volumes of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct ImagesArgs {}

pub(super) fn run(_args: &ImagesArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
