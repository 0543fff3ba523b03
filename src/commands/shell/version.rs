//! Arguments of `kvshoot version`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::version::{self, VersionOptions};
use crate::ui::Format;

/// Print the versions of kvshoot and of the provider cluster
///
/// A provider cluster that does not respond within 3 seconds is a warning.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct VersionArgs {
    /// Print only the version of kvshoot, without asking the provider cluster
    #[arg(long)]
    client: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: VersionFormat,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum VersionFormat {
    Text,
    Json,
    Yaml,
}

pub(in crate::commands) fn run(
    args: &VersionArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let format = match args.output {
        VersionFormat::Text => None,
        VersionFormat::Json => Some(Format::Json),
        VersionFormat::Yaml => Some(Format::Yaml),
    };
    let options = VersionOptions {
        client: args.client,
        output: format,
    };
    version::version(&options, context)
}
