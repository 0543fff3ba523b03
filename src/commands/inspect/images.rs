//! Arguments of `kvshoot images`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::images;
use crate::ui::Format;

/// List the imported VM images of a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ImagesArgs {
    #[command(subcommand)]
    command: ImagesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ImagesCommand {
    List(ImagesListArgs),
}

/// List golden volumes with the progress of their imports
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
struct ImagesListArgs {
    /// Name of the shoot [default: all shoots of the namespace]
    name: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &ImagesArgs, context: &Context) -> Result<Exit, CommandError> {
    let ImagesCommand::List(args) = &args.command;
    images::list_images(args.name.as_deref(), args.output, context)
}
