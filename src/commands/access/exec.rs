//! Arguments of `kvshoot exec`.

use crate::app::access::exec::{self, ExecOptions};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::commands::arguments::AccessArgs;
use std::ffi::OsString;

/// Run a command with KUBECONFIG set to a cluster
///
/// Exits with the code of the command, or with 125 if kvshoot itself failed.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ExecArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Command and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(in crate::commands) fn run(args: &ExecArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = ExecOptions {
        name: args.name.clone(),
        access: args.access.options(),
        command: args.command.clone(),
    };
    exec::exec(&options, context)
}
