//! Arguments of `kvshoot plan`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::preview::plan::{self, PlanOptions};
use crate::commands::arguments::{AddonsArgs, ManifestArgs};
use crate::ui::Format;

/// Show what apply would do
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct PlanArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    #[command(flatten)]
    addons: AddonsArgs,
    /// Exit with code 1 if there are changes
    #[arg(long)]
    exit_code: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(in crate::commands) fn run(args: &PlanArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = PlanOptions {
        files: args.manifests.files(),
        addons: args.addons.addons.clone(),
        exit_code: args.exit_code,
        output: args.output,
    };
    plan::plan(&options, context)
}
