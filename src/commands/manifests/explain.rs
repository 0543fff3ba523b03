//! Arguments of `kvshoot explain` and `kvshoot schema`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::manifests::explain;

/// Describe a field of a manifest
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ExplainArgs {
    /// Kind and field, for example shoot.spec.provider.workers
    #[arg(value_name = "KIND[.FIELD...]")]
    path: String,
}

/// Print the JSON schema of a kind of manifest
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct SchemaArgs {
    /// Kind, for example shoot or cloudprofile
    #[arg(default_value = "shoot")]
    kind: String,
}

pub(in crate::commands) fn run(
    args: &ExplainArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    explain::explain(&args.path, context)
}

pub(in crate::commands) fn schema(
    args: &SchemaArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    explain::schema(&args.kind, context)
}
