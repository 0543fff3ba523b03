//! `kvshoot exec`.

use super::certificate::{AccessOptions, context_name};
use super::process::{self, Signal};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find_or_only;
use crate::app::provider::connect::connect;
use crate::app::provider::sandbox::path_with_kubectl;
use crate::cluster::{self, ApiClient, ClientCertificate, Endpoint};
use crate::config::secure_file;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use tempfile::NamedTempFile;
use tokio::signal::unix::{SignalKind, signal};

/// Options of `kvshoot exec`.
#[derive(Debug)]
pub(crate) struct ExecOptions {
    /// Display name of the shoot; the only one of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) access: AccessOptions,
    pub(crate) command: Vec<OsString>,
}

/// A temporary kubeconfig, and the connection that it uses. Dropping it deletes the file and closes the connection.
pub(crate) struct Access {
    pub(crate) way: Endpoint,
    file: NamedTempFile,
    /// PATH of the command, if it differs from that of this process.
    path: Option<OsString>,
}

impl Access {
    /// Writes a temporary kubeconfig for a connection to a shoot of the provider cluster.
    pub(crate) fn new(
        way: Endpoint,
        id: &str,
        certificate: &ClientCertificate,
        provider: &ApiClient,
        context: &Context,
    ) -> Result<Access, CommandError> {
        let value = cluster::kubeconfig(&context_name(id), &way.url, certificate);
        let file = secure_file::temporary(&value.to_string()).map_err(|error| {
            let message = "cannot write a temporary kubeconfig";
            CommandError::new(Exit::Precondition, message).cause(error.to_string())
        })?;
        let path = path_with_kubectl(context, provider.server());
        Ok(Access { way, file, path })
    }

    /// Path of the temporary kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        self.file.path()
    }

    /// Environment variables of the command.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let path = self.path.iter().map(|it| ("PATH", it.clone()));
        path.chain([("KUBECONFIG", self.kubeconfig().into())])
            .collect()
    }
}

/// Runs a command with KUBECONFIG set to a cluster, and returns its exit code.
pub(crate) fn exec(options: &ExecOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        // Exit codes of kvshoot must not be mistaken for those of the command.
        let access = connect_to_shoot(options, context)
            .await
            .map_err(|error| CommandError {
                exit: Exit::Exec,
                ..error
            })?;
        let exit = run(&options.command, &access).await;
        drop(access);
        exit
    })?
}

async fn connect_to_shoot(
    options: &ExecOptions,
    context: &Context,
) -> Result<Access, CommandError> {
    let provider = connect(context).await?;
    let record = find_or_only(&provider, options.name.as_deref(), context).await?;
    let id = &record.name;
    let certificate = options.access.issue(&provider, id, context).await?;
    let way = provider
        .shoot_endpoint(id, &certificate)
        .await
        .map_err(failed)?;
    Access::new(way, id, &certificate, &provider, context)
}

/// Runs the command until it ends, and forwards signals to it.
async fn run(command: &[OsString], access: &Access) -> Result<Exit, CommandError> {
    let cannot = |error: std::io::Error| {
        CommandError::new(Exit::Exec, "cannot handle signals").cause(error.to_string())
    };
    let mut interrupts = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminations = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut hangups = signal(SignalKind::hangup()).map_err(cannot)?;
    let mut child = process::spawn(command, access.variables())?;
    // The terminal sends SIGINT to the process group, and thus to the child.
    let is_forwarded = std::io::stdin().is_terminal();
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(Exit::Child(process::exit_code(ended.map_err(cannot)?))),
            Some(()) = interrupts.recv() => if !is_forwarded { process::send(&child, Signal::INT) },
            Some(()) = terminations.recv() => process::send(&child, Signal::TERM),
            Some(()) = hangups.recv() => process::send(&child, Signal::HUP),
        }
    }
}
