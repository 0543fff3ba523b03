//! Arguments of `kvshoot exec`.

use crate::app::access::exec::{self, ExecOptions};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::commands::arguments::SubjectArgs;
use crate::ui::parse_duration;
use std::ffi::OsString;
use std::time::Duration;

/// Run a command with KUBECONFIG set to a cluster
///
/// Exits with the code of the command, or with 125 if kvshoot itself failed. The kubeconfig is deleted when the command
/// ends. Its client certificate is in a file next to it, which is renewed while the command runs; with --ttl the
/// certificate is part of the kubeconfig, and is not renewed.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ExecArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    /// Validity of the client certificate [default: 1h, renewed while the command runs]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
    #[command(flatten)]
    subject: SubjectArgs,
    /// Pass the environment variables that select the provider cluster on to the command
    #[arg(long)]
    provider_env: bool,
    /// Command and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(in crate::commands) fn run(args: &ExecArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = ExecOptions {
        name: args.name.clone(),
        subject: args.subject.options(),
        ttl: args.ttl,
        inherits_provider: args.provider_env,
        command: args.command.clone(),
    };
    exec::exec(&options, context)
}
