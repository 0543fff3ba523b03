//! Arguments of `kvshoot nodes`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::nodes::{self, NodesOptions};
use crate::ui::Format;

/// List the nodes of a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct NodesArgs {
    #[command(subcommand)]
    command: NodesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum NodesCommand {
    List(NodesListArgs),
}

/// List the nodes of a cluster with zone, status and machine
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
struct NodesListArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    /// Filter by pool
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    /// Keep watching, and print each node that changes
    #[arg(short, long)]
    watch: bool,
}

pub(in crate::commands) fn run(args: &NodesArgs, context: &Context) -> Result<Exit, CommandError> {
    let NodesCommand::List(args) = &args.command;
    let options = NodesOptions {
        name: args.name.clone(),
        pool: args.pool.clone(),
        output: args.output,
        watch: args.watch,
    };
    nodes::list_nodes(&options, context)
}
