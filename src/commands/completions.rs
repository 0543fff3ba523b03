use super::{CommandError, Context, Exit};

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {}

pub(super) fn run(_args: &CompletionsArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
