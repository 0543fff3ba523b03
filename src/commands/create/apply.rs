//! Arguments of `kvshoot apply`.

use crate::app::apply::{self, ApplyOptions};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::commands::arguments::{AddonsArgs, ManifestArgs, RunFlags};

/// Create or update a cluster from a manifest
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ApplyArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    #[command(flatten)]
    addons: AddonsArgs,
    #[command(flatten)]
    run: RunFlags,
    /// Create the namespace if it does not exist; deleting its last shoot deletes it
    #[arg(long)]
    create_namespace: bool,
    /// Apply changes outside of the maintenance window, although confineSpecUpdateRollout is set
    #[arg(long)]
    now: bool,
    /// Number of shoots to apply at the same time, if there are several
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    parallel: u8,
}

pub(in crate::commands) fn run(args: &ApplyArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = ApplyOptions {
        files: args.manifests.files(),
        addons: args.addons.addons.clone(),
        run: args.run.options(),
        create_namespace: args.create_namespace,
        now: args.now,
        parallel: args.parallel.into(),
    };
    apply::apply(&options, context)
}
