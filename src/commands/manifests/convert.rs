//! Arguments of `kvshoot convert`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::manifests::convert;
use crate::commands::arguments::ManifestArgs;

/// Convert Kubermatic MachineDeployments to worker pools
///
/// Prints items of spec.provider.workers of a Shoot. With a Shoot and a CloudProfile among the manifests, the zones are
/// known and the pools are checked by all rules.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ConvertArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    output: PoolFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PoolFormat {
    Yaml,
    Json,
}

pub(in crate::commands) fn run(
    args: &ConvertArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let as_json = args.output == PoolFormat::Json;
    convert::convert(&args.manifests.files(), as_json, context)
}
