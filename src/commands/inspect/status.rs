//! Arguments of `kvshoot status`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::status;
use crate::ui::Format;

/// Show the status of a cluster
///
/// Exits with code 1 if the cluster is not healthy.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct StatusArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &StatusArgs, context: &Context) -> Result<Exit, CommandError> {
    status::status(args.name.as_deref(), args.output, context)
}
