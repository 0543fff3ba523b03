//! Arguments of `kvshoot protect` and `kvshoot unprotect`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::protection;

/// Protect a cluster from deletion
///
/// delete and gc refuse to delete a protected cluster, with exit code 12.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ProtectArgs {
    /// Name of the shoot
    name: String,
    /// Reason, shown when a deletion is refused
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Remove deletion protection from a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct UnprotectArgs {
    /// Name of the shoot
    name: String,
}

pub(in crate::commands) fn protect(
    args: &ProtectArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    protection::protect(&args.name, &args.reason, context)
}

pub(in crate::commands) fn unprotect(
    args: &UnprotectArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    protection::unprotect(&args.name, context)
}
