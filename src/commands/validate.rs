use super::{CommandError, Context, Exit};

/// Check manifests, without a cluster
#[derive(Debug, clap::Args)]
pub(super) struct ValidateArgs {}

pub(super) fn run(_args: &ValidateArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
