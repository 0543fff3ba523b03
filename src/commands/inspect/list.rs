//! Arguments of `kvshoot list`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::list;
use crate::ui::Format;

/// List clusters
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
pub(in crate::commands) struct ListArgs {
    /// List clusters in all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &ListArgs, context: &Context) -> Result<Exit, CommandError> {
    list::list(args.all_namespaces, args.output, context)
}
