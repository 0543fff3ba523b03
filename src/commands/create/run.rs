//! Arguments of `kvshoot run`.

use crate::app::context::Context;
use crate::app::ephemeral::cluster::{self, EphemeralOptions};
use crate::app::error::{CommandError, Exit};
use crate::commands::arguments::{AddonsArgs, ManifestArgs};
use crate::ui::parse_duration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Run a command against a temporary cluster
///
/// Creates a cluster, runs the command, and deletes the cluster. Exits with the code of the command, or with 125 if
/// kvshoot itself failed. The streams belong to the command; kvshoot writes to standard error only. Ctrl-C deletes the
/// cluster; a second Ctrl-C exits at once and prints how to delete it. A cluster that a killed run leaves behind
/// expires, and the next gc or run in its namespace deletes it.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct RunArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    #[command(flatten)]
    addons: AddonsArgs,
    /// Append five random characters to the shoot's name, so that concurrent runs do not collide
    #[arg(long)]
    generate_name: bool,
    /// Lifetime of the cluster: then the command is terminated, and gc deletes what remains [default: 2h]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
    /// Keep a failed cluster for this long
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2h"
    )]
    keep_on_failure: Option<Duration>,
    /// Directory for the support bundle on failure
    #[arg(long, value_name = "DIR", env = "KVSHOOT_ARTIFACTS", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    artifacts: PathBuf,
    /// Time limit for creating the cluster, and for deleting it
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    timeout: Duration,
    /// Create the namespace if it does not exist; deleting its last shoot deletes it
    #[arg(long)]
    create_namespace: bool,
    /// Pass the environment variables that select the provider cluster on to the command
    #[arg(long)]
    provider_env: bool,
    /// Command and arguments; KUBECONFIG, KVSHOOT_NAME, KVSHOOT_NAMESPACE and KVSHOOT_API_SERVER are set
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(in crate::commands) fn run(args: &RunArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = EphemeralOptions {
        files: args.manifests.files(),
        addons: args.addons.addons.clone(),
        generate_name: args.generate_name,
        ttl: args.ttl,
        keep_on_failure: args.keep_on_failure,
        artifacts: args.artifacts.clone(),
        timeout: args.timeout,
        create_namespace: args.create_namespace,
        inherits_provider: args.provider_env,
        command: args.command.clone(),
    };
    cluster::run(&options, context)
}
