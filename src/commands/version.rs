use super::{CommandError, Context, Exit};
use crate::ui::Format;
use serde::Serialize;
use std::fmt;

/// Print the version
#[derive(Debug, clap::Args)]
pub(super) struct VersionArgs {
    /// Print it for a program
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: VersionFormat,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum VersionFormat {
    Text,
    Json,
    Yaml,
}

#[derive(Serialize)]
pub(super) struct Version {
    version: &'static str,
    /// Given at build time as `KVSHOOT_COMMIT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
}

pub(super) const VERSION: Version = Version {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("KVSHOOT_COMMIT"),
};

pub(super) fn run(args: &VersionArgs, context: &Context) -> Result<Exit, CommandError> {
    match args.output {
        VersionFormat::Json => context.ui.value(Format::Json, &VERSION),
        VersionFormat::Yaml => context.ui.value(Format::Yaml, &VERSION),
        VersionFormat::Text => {
            context.ui.data(&format!("kvshoot {VERSION}\n"));
        }
    }
    Ok(Exit::Done)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version)?;
        match self.commit {
            Some(commit) => write!(f, " ({commit})"),
            None => Ok(()),
        }
    }
}
