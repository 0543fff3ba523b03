//! Arguments of `kvshoot render`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::manifests::render::{self, RenderFormat, RenderOptions};
use crate::commands::arguments::ManifestArgs;

/// Print all objects that the first apply would create
///
/// Values that the provider cluster assigns are not known in advance: addresses are 0.0.0.0, and Secrets of keys and
/// certificates are empty. Instancetypes and preferences of the provider cluster are referenced by name.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct RenderArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    output: ObjectFormat,
    /// Print the objects inside the cluster, instead of those in the provider cluster
    #[arg(long)]
    inside: bool,
    /// Print the values of Secrets
    #[arg(long)]
    show_secrets: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ObjectFormat {
    /// One document per object
    Yaml,
    /// A list
    Json,
    /// All container images of the cluster, one per line
    Images,
}

pub(in crate::commands) fn run(args: &RenderArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = RenderOptions {
        files: args.manifests.files(),
        format: match args.output {
            ObjectFormat::Yaml => RenderFormat::Yaml,
            ObjectFormat::Json => RenderFormat::Json,
            ObjectFormat::Images => RenderFormat::Images,
        },
        inside: args.inside,
        show_secrets: args.show_secrets,
    };
    render::render(&options, context)
}
