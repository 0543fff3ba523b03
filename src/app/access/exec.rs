//! `kvshoot exec`.

use super::certificate::{AccessOptions, SubjectOptions, context_name};
use super::process::{self, Signal};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find_or_only;
use crate::app::provider::connect::connect;
use crate::app::provider::sandbox::path_with_kubectl;
use crate::clock;
use crate::cluster::{self, ApiClient, ClientCertificate, Endpoint};
use crate::config::secure_file;
use crate::config::temporary_directory::TemporaryDirectory;
use secrecy::ExposeSecret as _;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use zeroize::Zeroizing;

/// Validity of a certificate that is renewed while the command runs. What a killed process leaves behind is useless after
/// that time; the next command that needs such a directory deletes it.
const RENEWED_VALIDITY: Duration = Duration::from_secs(60 * 60);
/// Time between two attempts to renew a certificate.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Options of `kvshoot exec`.
#[derive(Debug)]
pub(crate) struct ExecOptions {
    /// Display name of the shoot; the only one of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) subject: SubjectOptions,
    /// Validity of the certificate. If None, it is short and the certificate is renewed while the command runs.
    pub(crate) ttl: Option<Duration>,
    /// The command inherits the variables that select the provider cluster.
    pub(crate) inherits_provider: bool,
    pub(crate) command: Vec<OsString>,
}

/// A temporary kubeconfig, and the connection that it uses. Dropping it deletes the files and closes the connection.
pub(crate) struct Access {
    pub(crate) way: Endpoint,
    kubeconfig: PathBuf,
    /// Certificate and key, if they are not part of the kubeconfig.
    credentials: Option<PathBuf>,
    /// Both files are in it.
    _directory: TemporaryDirectory,
    /// PATH of the command, if it differs from that of this process.
    path: Option<OsString>,
}

/// Where a kubeconfig has its client certificate and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CredentialStore {
    /// In the kubeconfig, which can be copied.
    Kubeconfig,
    /// In a file next to it, which can be replaced.
    File,
}

impl Access {
    /// Writes a temporary kubeconfig for a connection to a shoot of the provider cluster.
    pub(crate) fn new(
        way: Endpoint,
        id: &str,
        certificate: &ClientCertificate,
        provider: &ApiClient,
        context: &Context,
        store: CredentialStore,
    ) -> Result<Access, CommandError> {
        let name = context_name(id);
        let directory = TemporaryDirectory::new().map_err(|error| cannot_write(&error))?;
        let credentials = match store {
            CredentialStore::Kubeconfig => None,
            CredentialStore::File => {
                let file = directory.file("client.pem");
                let pem = certificate.pem();
                secure_file::write(&file, pem.expose_secret()).map_err(|it| cannot_write(&it))?;
                Some(file)
            }
        };
        let value = match &credentials {
            None => cluster::kubeconfig(&name, &way.url, certificate),
            Some(it) => cluster::kubeconfig_with_file(&name, &way.url, certificate, it),
        };
        let kubeconfig = directory.file("kubeconfig");
        let text = Zeroizing::new(value.to_string());
        secure_file::write(&kubeconfig, &text).map_err(|it| cannot_write(&it))?;
        let path = path_with_kubectl(context, provider.server());
        Ok(Access {
            way,
            kubeconfig,
            credentials,
            _directory: directory,
            path,
        })
    }

    /// Path of the temporary kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Environment variables of the command.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let path = self.path.iter().map(|it| ("PATH", it.clone()));
        let clock = clock::file().map(|it| (clock::VARIABLE, it.into()));
        path.chain([("KUBECONFIG", self.kubeconfig().into())])
            .chain(clock)
            .collect()
    }

    /// Replaces the certificate, which must not be part of the kubeconfig.
    fn replace(&self, certificate: &ClientCertificate) -> Result<(), String> {
        let Some(file) = &self.credentials else {
            return Ok(());
        };
        let pem = certificate.pem();
        let written = secure_file::write(file, pem.expose_secret());
        written.map_err(|error| error.to_string())
    }
}

fn cannot_write(error: &dyn std::error::Error) -> CommandError {
    let message = "cannot write a temporary kubeconfig";
    CommandError::new(Exit::Precondition, message).cause(error.to_string())
}

/// Runs a command with KUBECONFIG set to a cluster, and returns its exit code.
pub(crate) fn exec(options: &ExecOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let connected = ShootAccess::connect(options, context).await;
        // Exit codes of kvshoot must not be mistaken for those of the command.
        let shoot = connected.map_err(|error| CommandError {
            exit: Exit::Exec,
            ..error
        })?;
        let exit = shoot.run(options).await;
        drop(shoot);
        exit
    })?
}

/// A shoot that a command has access to.
pub(crate) struct ShootAccess<'a> {
    context: &'a Context,
    provider: ApiClient,
    /// Technical ID of the shoot.
    id: Arc<str>,
    options: AccessOptions,
    access: Access,
}

impl<'a> ShootAccess<'a> {
    async fn connect(
        options: &ExecOptions,
        context: &'a Context,
    ) -> Result<ShootAccess<'a>, CommandError> {
        let provider = connect(context).await?;
        let record = find_or_only(&provider, options.name.as_deref(), context).await?;
        let store = match options.ttl {
            Some(_) => CredentialStore::Kubeconfig,
            None => CredentialStore::File,
        };
        let access = AccessOptions {
            ttl: options.ttl.unwrap_or(RENEWED_VALIDITY),
            subject: options.subject.clone(),
        };
        ShootAccess::open(provider, &record.name, access, store, context).await
    }

    /// Access of an administrator that lasts as long as the command.
    pub(crate) async fn renewed(
        provider: ApiClient,
        id: &str,
        context: &'a Context,
    ) -> Result<ShootAccess<'a>, CommandError> {
        let options = AccessOptions {
            ttl: RENEWED_VALIDITY,
            subject: SubjectOptions {
                group: None,
                force: false,
            },
        };
        ShootAccess::open(provider, id, options, CredentialStore::File, context).await
    }

    async fn open(
        provider: ApiClient,
        id: &str,
        options: AccessOptions,
        store: CredentialStore,
        context: &'a Context,
    ) -> Result<ShootAccess<'a>, CommandError> {
        let certificate = options.issue(&provider, id, context).await?;
        let way = provider
            .shoot_endpoint(id, &certificate)
            .await
            .map_err(failed)?;
        let access = Access::new(way, id, &certificate, &provider, context, store)?;
        Ok(ShootAccess {
            context,
            provider,
            id: Arc::from(id),
            options,
            access,
        })
    }

    /// Environment variables of the command.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        self.access.variables()
    }

    /// Runs the command until it ends, forwards signals to it, and renews its certificate.
    async fn run(&self, options: &ExecOptions) -> Result<Exit, CommandError> {
        let cannot = |error: std::io::Error| {
            CommandError::new(Exit::Exec, "cannot handle signals").cause(error.to_string())
        };
        let mut interrupts = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminations = signal(SignalKind::terminate()).map_err(cannot)?;
        let mut hangups = signal(SignalKind::hangup()).map_err(cannot)?;
        let mut variables = match options.inherits_provider {
            true => self.context.variables(),
            false => Vec::new(),
        };
        variables.extend(self.variables());
        let mut child = process::spawn(&options.command, variables, options.inherits_provider)?;
        // The terminal sends SIGINT to the process group, and thus to the child.
        let is_forwarded = std::io::stdin().is_terminal();
        self.while_renewed(async {
            loop {
                tokio::select! {
                    ended = child.wait() => return Ok(Exit::Child(process::exit_code(ended.map_err(cannot)?))),
                    Some(()) = interrupts.recv() => if !is_forwarded { process::send(&child, Signal::INT) },
                    Some(()) = terminations.recv() => process::send(&child, Signal::TERM),
                    Some(()) = hangups.recv() => process::send(&child, Signal::HUP),
                }
            }
        })
        .await
    }

    /// Renews the certificate until `work` ends.
    pub(crate) async fn while_renewed<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            result = work => result,
            never = self.renew() => match never {},
        }
    }

    /// Replaces the certificate whenever half of its validity has passed.
    async fn renew(&self) -> Infallible {
        if self.access.credentials.is_none() {
            return std::future::pending().await;
        }
        let mut wait = self.options.ttl / 2;
        loop {
            sleep(wait).await;
            let issued = self
                .options
                .issue(&self.provider, &self.id, self.context)
                .await;
            let issued = issued.map_err(|error| error.message);
            let replaced = issued.and_then(|certificate| self.access.replace(&certificate));
            wait = match replaced {
                Ok(()) => self.options.ttl / 2,
                // The streams belong to the command.
                Err(error) => {
                    tracing::warn!(error, "cannot renew the client certificate");
                    RETRY_INTERVAL
                }
            };
        }
    }
}
