//! Arguments of `kvshoot tunnel`.

use crate::app::access::tunnel::{self, TunnelOptions};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::commands::arguments::AccessArgs;

/// Forward a local port to the API server of a cluster, until Ctrl-C
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct TunnelArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Local port; 0 for any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

pub(in crate::commands) fn run(args: &TunnelArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = TunnelOptions {
        name: args.name.clone(),
        access: args.access.options(),
        port: args.port,
    };
    tunnel::tunnel(&options, context)
}
