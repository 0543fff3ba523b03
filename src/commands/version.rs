use super::{CommandError, Context, Exit};

/// Print the version
#[derive(Debug, clap::Args)]
pub(super) struct VersionArgs {}

pub(super) fn run(_args: &VersionArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
