//! Arguments of `kvshoot why`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::why::explain;
use crate::ui::Format;

/// Explain why a cluster is not healthy, down to the root cause
///
/// Each line starts with an unhealthy object and ends with the object that causes it, with the message of that object.
/// Needs neither a manifest nor a run in progress. Exits with code 1 if the cluster is not healthy.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct WhyArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    name: String,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &WhyArgs, context: &Context) -> Result<Exit, CommandError> {
    explain::why(&args.name, args.output, context)
}
