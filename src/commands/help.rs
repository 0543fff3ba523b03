use super::{CommandError, Context, Exit};

/// Print help, also on exit-codes and environment
#[derive(Debug, clap::Args)]
pub(super) struct HelpArgs {}

pub(super) fn run(_args: &HelpArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
