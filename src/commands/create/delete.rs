//! Arguments of `kvshoot delete`.

use crate::app::context::Context;
use crate::app::delete::{self, DeleteOptions};
use crate::app::error::{CommandError, Exit};
use crate::commands::arguments::RunFlags;

/// Delete a cluster and verify that nothing remains
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct DeleteArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    name: String,
    /// Confirm by giving the shoot's name
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,
    /// Do not fail if the shoot does not exist
    #[arg(long)]
    ignore_not_found: bool,
    /// Keep the volumes of PersistentVolumes as DataVolumes in the provider cluster
    #[arg(long)]
    keep_volumes: bool,
    #[command(flatten)]
    run: RunFlags,
}

pub(in crate::commands) fn run(args: &DeleteArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = DeleteOptions {
        name: args.name.clone(),
        confirm: args.confirm.clone(),
        yes: args.yes,
        ignore_not_found: args.ignore_not_found,
        keep_volumes: args.keep_volumes,
        run: args.run.options(),
    };
    delete::delete(&options, context)
}
