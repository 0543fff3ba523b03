//! Arguments of `kvshoot events`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::events::{self, EventsOptions};
use crate::ui::{Format, parse_duration};
use std::time::Duration;

/// List the events of a cluster
///
/// These are the events of its objects in the provider cluster, and those inside the cluster.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct EventsArgs {
    /// Name of the shoot
    name: String,
    /// Keep watching until Ctrl-C, one line per event
    #[arg(short, long)]
    watch: bool,
    /// Filter by type
    #[arg(long, value_name = "TYPE", value_delimiter = ',', value_parser = ["Normal", "Warning"])]
    types: Vec<String>,
    /// Output format; with --watch, json prints one object per line
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    /// Time limit for --watch [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "watch")]
    timeout: Option<Duration>,
}

pub(in crate::commands) fn run(args: &EventsArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = EventsOptions {
        name: args.name.clone(),
        watch: args.watch,
        types: args.types.clone(),
        output: args.output,
        timeout: args.timeout,
    };
    events::events(&options, context)
}
