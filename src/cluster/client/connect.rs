//! Clients from kubeconfigs.

use super::certificate_authority::ClientCertificate;
use super::error::Error;
use super::kubeconfig::kubeconfig;
use super::transport::tls;
use crate::cluster::client::api_client::ApiClient;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use secrecy::{ExposeSecret, SecretString};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// Limit for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes of a kubeconfig.
const MAX_BYTES: usize = 1 << 20;

/// Source of the kubeconfig of a provider cluster.
#[derive(Debug)]
pub(crate) enum KubeconfigSource {
    Files(KubeconfigFiles),
    /// Kubeconfig in a manifest or a Secret. Its exec plugins run only if that is allowed.
    Text {
        text: SecretString,
        allow_exec: bool,
    },
    /// Service account of the pod that kvshoot runs in.
    InCluster,
}

/// Kubeconfig files, merged in order; missing files are skipped unless all are missing.
#[derive(Debug, Default)]
pub(crate) struct KubeconfigFiles {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) overrides: KubeconfigOverrides,
}

/// Replacements for parts of the current context.
#[derive(Debug, Default, Clone)]
pub(crate) struct KubeconfigOverrides {
    pub(crate) context: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) user: Option<String>,
}

impl ApiClient {
    /// Creates a client; the first request opens the connection.
    ///
    /// `namespace` replaces the namespace of the context.
    ///
    /// # Errors
    ///
    /// No kubeconfig, an unreadable or invalid one, or one with an exec plugin that is not allowed.
    pub(crate) async fn connect(
        source: KubeconfigSource,
        namespace: Option<&str>,
    ) -> Result<ApiClient, Error> {
        let config = match source {
            KubeconfigSource::Files(files) => load_files(files).await?,
            KubeconfigSource::Text { text, allow_exec } => load_text(&text, allow_exec).await?,
            KubeconfigSource::InCluster => {
                Config::incluster().map_err(|it| Error::KubeconfigNotFound(it.to_string()))?
            }
        };
        ApiClient::from_config(config, namespace)
    }

    /// Creates a client of a shoot's API server.
    ///
    /// # Errors
    ///
    /// The certificate is invalid.
    pub(crate) async fn from_credentials(
        url: &str,
        credentials: &ClientCertificate,
    ) -> Result<ApiClient, Error> {
        let config = ApiClient::config(url, credentials).await?;
        ApiClient::from_config(config, Some("kube-system"))
    }

    /// Settings of a connection to a server of a shoot.
    pub(in crate::cluster) async fn config(
        url: &str,
        credentials: &ClientCertificate,
    ) -> Result<Config, Error> {
        let text = Zeroizing::new(kubeconfig("shoot", url, credentials).to_string());
        load_text(&text.as_str().into(), false).await
    }

    fn from_config(mut config: Config, namespace: Option<&str>) -> Result<ApiClient, Error> {
        let mut warnings = Vec::new();
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // Each request has its own deadline, and a watch may be silent for long.
        config.read_timeout = None;
        config.write_timeout = None;
        let server = config.cluster_url.to_string();
        let server = server.trim_end_matches('/').to_owned();
        if config.accept_invalid_certs {
            warnings.push(format!(
                "the certificate of {server} is not verified (insecure-skip-tls-verify)"
            ));
        }
        let namespace = namespace.unwrap_or(&config.default_namespace).to_owned();
        let client = tls::client(config).map_err(|it| client_error(&server, it))?;
        Ok(ApiClient::new(client, server, &namespace, warnings))
    }
}

async fn load_files(files: KubeconfigFiles) -> Result<Config, Error> {
    let mut merged: Option<Kubeconfig> = None;
    let existing = files.files.iter().filter(|it| it.exists());
    for file in existing {
        check_size(file)?;
        let one = Kubeconfig::read_from(file).map_err(|it| kubeconfig_error(&it))?;
        merged = Some(match merged {
            Some(before) => before.merge(one).map_err(|it| kubeconfig_error(&it))?,
            None => one,
        });
    }
    let Some(kubeconfig) = merged else {
        let tried: Vec<_> = files
            .files
            .iter()
            .map(|it| it.display().to_string())
            .collect();
        return Err(Error::KubeconfigNotFound(match tried.len() {
            0 => "no file given".to_owned(),
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
        .map_err(|it| kubeconfig_error(&it))
}

/// Refuses files that are too large for a kubeconfig, and devices, which have no end. Pipes are accepted.
fn check_size(file: &Path) -> Result<(), Error> {
    let Ok(metadata) = file.metadata() else {
        // Reading it has a better error.
        return Ok(());
    };
    let shown = file.display();
    let most = MAX_BYTES as u64;
    match metadata.file_type().is_char_device() {
        true => Err(Error::InvalidKubeconfig(format!("{shown} is a device"))),
        false if metadata.len() > most => Err(Error::InvalidKubeconfig(format!(
            "{shown} is larger than {most} bytes"
        ))),
        false => Ok(()),
    }
}

async fn load_text(text: &SecretString, allow_exec: bool) -> Result<Config, Error> {
    if text.expose_secret().len() > MAX_BYTES {
        let message = format!("it is larger than {MAX_BYTES} bytes");
        return Err(Error::InvalidKubeconfig(message));
    }
    let kubeconfig = Kubeconfig::from_yaml(text.expose_secret()).map_err(|it| match it {
        // The parser's message quotes the surrounding lines, which may hold secrets.
        kube::config::KubeconfigError::Parse(_) => {
            Error::InvalidKubeconfig("not valid YAML".to_owned())
        }
        other => kubeconfig_error(&other),
    })?;
    let mut clusters = kubeconfig
        .clusters
        .iter()
        .filter_map(|it| it.cluster.as_ref());
    let authority = clusters.find_map(|it| it.certificate_authority.as_ref());
    if let Some(file) = authority.filter(|_| !allow_exec) {
        return Err(local_file(file));
    }
    for user in &kubeconfig.auth_infos {
        let runs = user.auth_info.as_ref().and_then(|it| it.exec.as_ref());
        if let Some(exec) = runs
            && !allow_exec
        {
            let command = exec.command.clone().unwrap_or_default();
            return Err(Error::ExecNotAllowed { command });
        }
        // Reading local files on behalf of a manifest is as dangerous as running a program.
        refuse_files(user.auth_info.as_ref(), allow_exec)?;
    }
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|it| kubeconfig_error(&it))
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
        Some(file) => Err(local_file(file)),
        None => Ok(()),
    }
}

fn local_file(file: &str) -> Error {
    Error::InvalidKubeconfig(format!(
        "it comes from a manifest and refers to the local file {file}"
    ))
}

fn kubeconfig_error(error: &kube::config::KubeconfigError) -> Error {
    use kube::config::KubeconfigError;
    match error {
        // The Display implementation quotes the path as Rust's Debug does.
        KubeconfigError::ReadConfig(error, path) => {
            Error::KubeconfigNotFound(format!("{}: {error}", path.display()))
        }
        other => Error::InvalidKubeconfig(other.to_string()),
    }
}

fn client_error(server: &str, error: kube::Error) -> Error {
    match error {
        kube::Error::Auth(_) => {
            let what = crate::cluster::RequestInfo::get("credentials");
            Error::from_client(what, server, error)
        }
        other => Error::InvalidKubeconfig(other.to_string()),
    }
}
