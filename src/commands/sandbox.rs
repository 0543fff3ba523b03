use super::{CommandError, Context, Exit};

/// A provider cluster on this computer
#[derive(Debug, clap::Args)]
pub(super) struct SandboxArgs {}

pub(super) fn run(_args: &SandboxArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}

pub(super) fn kubeconfig(
    _context: &Context,
    _name: &str,
) -> Result<std::path::PathBuf, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
