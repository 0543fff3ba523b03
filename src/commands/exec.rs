use super::child::{self, Signal, pass};
use super::provider::{self, failed};
use super::reach::{AccessArgs, context_name};
use super::shoots::only;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{self, Endpoint};
use crate::config::private;
use clap_complete::engine::ArgValueCompleter;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use tempfile::NamedTempFile;
use tokio::signal::unix::{SignalKind, signal};

/// Run a program with KUBECONFIG leading to a cluster, and give its exit code
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: kvshoot exec dev -- kubectl get nodes")]
pub(super) struct ExecArgs {
    /// Name of the shoot; the only one of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What a program needs to enter; the file is gone with it, and the way closed.
pub(super) struct Entry {
    pub(super) file: NamedTempFile,
    pub(super) way: Endpoint,
}

pub(super) fn run(args: &ExecArgs, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        // A code of the program is not to be taken for one of kvshoot's own.
        let entry = enter(args, context).await.map_err(|error| CommandError {
            exit: Exit::Exec,
            ..error
        })?;
        let exit = follow(&args.command, &entry).await;
        drop(entry);
        exit
    })?
}

async fn enter(args: &ExecArgs, context: &Context) -> Result<Entry, CommandError> {
    let provider = provider::connect(context).await?;
    let record = only(&provider, args.name.as_deref()).await?;
    let id = &record.name;
    let credentials = args.access.credentials(&provider, id, context).await?;
    let way = provider
        .shoot_endpoint(id, &credentials)
        .await
        .map_err(failed)?;
    entry(way, id, &credentials)
}

/// Writes down the way for programs.
pub(super) fn entry(
    way: Endpoint,
    id: &str,
    credentials: &cluster::ClientCertificate,
) -> Result<Entry, CommandError> {
    let value = cluster::kubeconfig(&context_name(id), &way.url, credentials);
    let file = private::temporary(&value.to_string()).map_err(|error| {
        let told = CommandError::new(Exit::Precondition, "cannot write a temporary kubeconfig");
        told.cause(error.to_string())
    })?;
    Ok(Entry { file, way })
}

/// Stays until the program has ended, whoever is told to end.
async fn follow(command: &[OsString], entry: &Entry) -> Result<Exit, CommandError> {
    let cannot = |error: std::io::Error| {
        CommandError::new(Exit::Exec, "cannot listen to signals").cause(error.to_string())
    };
    let mut interrupts = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminations = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut hangups = signal(SignalKind::hangup()).map_err(cannot)?;
    let mut child = child::spawn(command, [("KUBECONFIG", entry.file.path())])?;
    // A terminal tells the whole group of processes.
    let tells_all = std::io::stdin().is_terminal();
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(Exit::Child(child::code(ended.map_err(cannot)?))),
            Some(()) = interrupts.recv() => if !tells_all { pass(&child, Signal::INT) },
            Some(()) = terminations.recv() => pass(&child, Signal::TERM),
            Some(()) = hangups.recv() => pass(&child, Signal::HUP),
        }
    }
}
