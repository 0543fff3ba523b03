//! Arguments of `kvshoot kubeconfig`.

use crate::app::access::kubeconfig::{self, GetOptions, MergeOptions, RemoveOptions};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::commands::arguments::AccessArgs;
use std::path::PathBuf;

/// Get, merge or remove the kubeconfig of a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct KubeconfigArgs {
    #[command(subcommand)]
    command: KubeconfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KubeconfigCommand {
    Get(KubeconfigGetArgs),
    Merge(KubeconfigMergeArgs),
    Remove(KubeconfigRemoveArgs),
}

/// Print a kubeconfig with a new client certificate
#[derive(Debug, clap::Args)]
struct KubeconfigGetArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Write it to a file with mode 0600 instead of printing it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Merge a cluster's credentials into your kubeconfig, or renew them
#[derive(Debug, clap::Args)]
struct KubeconfigMergeArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Kubeconfig to change [default: the first one in KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Name of the context [default: the name of the shoot]
    #[arg(long = "as", value_name = "NAME")]
    context_name: Option<String>,
    /// Make it the current context
    #[arg(long)]
    switch: bool,
}

/// Remove a cluster from your kubeconfig
///
/// Entries that kvshoot did not add are kept.
#[derive(Debug, clap::Args)]
struct KubeconfigRemoveArgs {
    /// Name of the shoot, which may no longer exist
    name: String,
    /// Kubeconfig to change [default: all in KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

pub(in crate::commands) fn run(
    args: &KubeconfigArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    match &args.command {
        KubeconfigCommand::Get(args) => {
            let options = GetOptions {
                name: args.name.clone(),
                access: args.access.options(),
                file: args.file.clone(),
            };
            context.block_on(kubeconfig::get(&options, context))??;
        }
        KubeconfigCommand::Merge(args) => {
            let options = MergeOptions {
                name: args.name.clone(),
                access: args.access.options(),
                into: args.into.clone(),
                context_name: args.context_name.clone(),
                switch: args.switch,
            };
            context.block_on(kubeconfig::merge(&options, context))??;
        }
        KubeconfigCommand::Remove(args) => {
            let options = RemoveOptions {
                name: args.name.clone(),
                from: args.from.clone(),
            };
            kubeconfig::remove(&options, context)?;
        }
    }
    Ok(Exit::Done)
}
