//! Arguments of `kvshoot get`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::get;
use crate::ui::Format;

/// Print the last applied manifest of a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct GetArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    name: String,
    /// Output format; yaml and json print the manifest
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &GetArgs, context: &Context) -> Result<Exit, CommandError> {
    get::get(&args.name, args.output, context)
}
