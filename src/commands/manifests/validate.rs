//! Arguments of `kvshoot validate`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::manifests::validate;
use crate::commands::arguments::{AddonsArgs, ManifestArgs};

/// Check manifests without a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ValidateArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    #[command(flatten)]
    addons: AddonsArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: ProblemFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ProblemFormat {
    /// Problems with their source lines, on standard error
    Text,
    /// One object with all errors and warnings, on standard output
    Json,
}

pub(in crate::commands) fn run(
    args: &ValidateArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let as_json = args.output == ProblemFormat::Json;
    let addons = args.addons.addons.as_deref();
    validate::validate(&args.manifests.files(), addons, as_json, context)
}
