//! Arguments of `kvshoot pools`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::pools;
use crate::ui::Format;

/// List the worker pools of a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct PoolsArgs {
    #[command(subcommand)]
    command: PoolsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PoolsCommand {
    List(PoolsListArgs),
}

/// List the worker pools of a cluster with their number of ready machines
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
struct PoolsListArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &PoolsArgs, context: &Context) -> Result<Exit, CommandError> {
    let PoolsCommand::List(args) = &args.command;
    pools::list_pools(args.name.as_deref(), args.output, context)
}
