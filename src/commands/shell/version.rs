//! Arguments of `kvshoot version`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::version;
use crate::ui::Format;

/// Print the version
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct VersionArgs {
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
    version::version(format, context)
}
