//! From a kubeconfig to a client.

use super::certificate_authority::ClientCertificate;
use super::error::Error;
use super::kubeconfig::kubeconfig;
use crate::cluster::client::api_client::Provider;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use secrecy::{ExposeSecret, SecretString};
use std::path::PathBuf;
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// Where the way to the provider cluster is written down.
#[derive(Debug)]
pub(crate) enum Source {
    Files(Kubeconfigs),
    /// Out of a manifest or a Secret. A program that it names is not run unless that is allowed.
    Text {
        text: SecretString,
        allow_exec: bool,
    },
    /// The service account of the pod that kvshoot runs in.
    InCluster,
}

/// Kubeconfig files, earlier ones first; those that do not exist are passed over unless all are.
#[derive(Debug, Default)]
pub(crate) struct Kubeconfigs {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) overrides: Overrides,
}

/// Parts of a kubeconfig to take other than the current context says.
#[derive(Debug, Default, Clone)]
pub(crate) struct Overrides {
    pub(crate) context: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) user: Option<String>,
}

impl Provider {
    /// Makes ready to talk; the server is first spoken to when something is asked.
    ///
    /// `namespace` replaces that of the context.
    ///
    /// # Errors
    ///
    /// No kubeconfig, one that cannot be read or used, or one that may not run its program.
    pub(crate) async fn connect(
        source: Source,
        namespace: Option<&str>,
    ) -> Result<Provider, Error> {
        let config = match source {
            Source::Files(files) => from_files(files).await?,
            Source::Text { text, allow_exec } => from_text(&text, allow_exec).await?,
            Source::InCluster => {
                Config::incluster().map_err(|it| Error::NoKubeconfig(it.to_string()))?
            }
        };
        Provider::with(config, namespace)
    }

    /// A client of a shoot's API server.
    ///
    /// # Errors
    ///
    /// The certificate cannot be used.
    pub(crate) async fn from_credentials(
        url: &str,
        credentials: &ClientCertificate,
    ) -> Result<Provider, Error> {
        let text = kubeconfig("shoot", url, credentials).to_string();
        let config = from_text(&text.into(), false).await?;
        Provider::with(config, Some("kube-system"))
    }

    fn with(mut config: Config, namespace: Option<&str>) -> Result<Provider, Error> {
        let mut warnings = Vec::new();
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT);
        // Requests have deadlines of their own, and a watch is silent for long.
        config.read_timeout = None;
        config.write_timeout = None;
        let server = config.cluster_url.to_string();
        let server = server.trim_end_matches('/').to_owned();
        if config.accept_invalid_certs {
            warnings.push(format!(
                "the certificate of {server} is not checked, as the kubeconfig asks"
            ));
        }
        let namespace = namespace.unwrap_or(&config.default_namespace).to_owned();
        let client = kube::Client::try_from(config).map_err(|it| unusable(&server, it))?;
        Ok(Provider::new(client, server, &namespace, warnings))
    }
}

async fn from_files(files: Kubeconfigs) -> Result<Config, Error> {
    let mut merged: Option<Kubeconfig> = None;
    let there = files.files.iter().filter(|it| it.exists());
    for file in there {
        let one = Kubeconfig::read_from(file).map_err(|it| broken(&it))?;
        merged = Some(match merged {
            Some(before) => before.merge(one).map_err(|it| broken(&it))?,
            None => one,
        });
    }
    let Some(kubeconfig) = merged else {
        let tried: Vec<_> = files
            .files
            .iter()
            .map(|it| it.display().to_string())
            .collect();
        return Err(Error::NoKubeconfig(match tried.len() {
            0 => "none is given".to_owned(),
            _ => format!("{} does not exist", tried.join(", ")),
        }));
    };
    let options = KubeConfigOptions {
        context: files.overrides.context,
        cluster: files.overrides.cluster,
        user: files.overrides.user,
    };
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|it| broken(&it))
}

async fn from_text(text: &SecretString, allow_exec: bool) -> Result<Config, Error> {
    let kubeconfig = Kubeconfig::from_yaml(text.expose_secret()).map_err(|it| match it {
        // The parser's own words show the lines around, and with them what is secret.
        kube::config::KubeconfigError::Parse(_) => Error::Kubeconfig("it is not YAML".to_owned()),
        other => broken(&other),
    })?;
    for user in &kubeconfig.auth_infos {
        let runs = user.auth_info.as_ref().and_then(|it| it.exec.as_ref());
        if let Some(exec) = runs
            && !allow_exec
        {
            let command = exec.command.clone().unwrap_or_default();
            return Err(Error::ExecNotAllowed { command });
        }
        // Reading files of this computer by the word of a manifest is the same as running a program.
        refuse_files(user.auth_info.as_ref(), allow_exec)?;
    }
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|it| broken(&it))
}

fn refuse_files(user: Option<&kube::config::AuthInfo>, allowed: bool) -> Result<(), Error> {
    let Some(user) = user.filter(|_| !allowed) else {
        return Ok(());
    };
    let helper = user.auth_provider.as_ref().map(|it| &it.name);
    if let Some(command) = helper {
        let command = command.clone();
        return Err(Error::ExecNotAllowed { command });
    }
    let files = [&user.token_file, &user.client_certificate, &user.client_key];
    match files.into_iter().flatten().next() {
        Some(file) => Err(Error::Kubeconfig(format!(
            "it comes from a manifest and names a file of this computer, {file}"
        ))),
        None => Ok(()),
    }
}

fn broken(error: &kube::config::KubeconfigError) -> Error {
    use kube::config::KubeconfigError;
    match error {
        // Its Display puts the path in quotes of Rust.
        KubeconfigError::ReadConfig(error, path) => {
            Error::NoKubeconfig(format!("{}: {error}", path.display()))
        }
        other => Error::Kubeconfig(other.to_string()),
    }
}

fn unusable(server: &str, error: kube::Error) -> Error {
    match error {
        kube::Error::Auth(_) => {
            let what = crate::cluster::What::get("credentials");
            Error::of_client(what, server, error)
        }
        other => Error::Kubeconfig(other.to_string()),
    }
}
