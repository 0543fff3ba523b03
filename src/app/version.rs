//! `kvshoot version`.

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::provider::connect::connect;
use crate::cluster::ProviderVersions;
use crate::ui::Format;
use crate::validate::KNOWN_MINORS;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Time limit for the versions of the provider cluster.
const TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct BuildVersion {
    version: &'static str,
    /// Set at build time by `KVSHOOT_COMMIT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
}

pub(crate) const VERSION: BuildVersion = BuildVersion {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("KVSHOOT_COMMIT"),
};

/// Options of `kvshoot version`.
#[derive(Debug)]
pub(crate) struct VersionOptions {
    /// Does not ask the provider cluster.
    pub(crate) client: bool,
    /// Text if None.
    pub(crate) output: Option<Format>,
}

/// The versions of kvshoot and of the provider cluster.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionReport {
    #[serde(flatten)]
    own: BuildVersion,
    /// Minor versions of Kubernetes that clusters can have.
    supported_kubernetes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ProviderReport>,
}

/// The versions of the provider cluster.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProviderReport {
    server: String,
    kubernetes: String,
    #[serde(rename = "kubeVirt", skip_serializing_if = "Option::is_none")]
    kubevirt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cdi: Option<String>,
}

/// Prints the versions. A provider cluster that does not answer is a warning.
pub(crate) fn version(options: &VersionOptions, context: &Context) -> Result<Exit, CommandError> {
    let provider = match options.client || !has_provider(context) {
        true => None,
        false => match context.block_on(provider(context))? {
            Ok(provider) => Some(provider),
            Err(error) => {
                let causes = [error.message]
                    .into_iter()
                    .chain(error.causes)
                    .collect::<Vec<_>>()
                    .join(": ");
                context.ui.warn(&format!(
                    "versions of the provider cluster unknown: {causes}"
                ));
                None
            }
        },
    };
    let versions = VersionReport {
        own: VERSION,
        supported_kubernetes: KNOWN_MINORS.map(|minor| format!("1.{minor}")).collect(),
        provider,
    };
    match options.output {
        Some(format) => context.ui.value(format, &versions),
        None => context.ui.data(&versions.to_string()),
    }
    Ok(Exit::Done)
}

/// Returns whether options or environment select a provider cluster.
fn has_provider(context: &Context) -> bool {
    let options = &context.provider;
    let is_selected = options.sandbox.is_some() || options.kubeconfig.is_some();
    let mut files = context.config.kubeconfigs().into_iter();
    is_selected || files.any(|it| it.exists()) || context.config.in_cluster()
}

async fn provider(context: &Context) -> Result<ProviderReport, CommandError> {
    let provider = connect(context).await?;
    let versions = tokio::time::timeout(TIMEOUT, provider.versions()).await;
    let server = provider.server().to_owned();
    match versions {
        Ok(versions) => {
            let ProviderVersions {
                kubernetes,
                kubevirt,
                cdi,
            } = versions.map_err(failed)?;
            Ok(ProviderReport {
                server,
                kubernetes,
                kubevirt,
                cdi,
            })
        }
        Err(_) => {
            let message = format!("no response from {server} within {} s", TIMEOUT.as_secs());
            Err(CommandError::new(Exit::Precondition, message))
        }
    }
}

impl fmt::Display for BuildVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version)?;
        match self.commit {
            Some(commit) => write!(f, " ({commit})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for VersionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kvshoot {}", self.own)?;
        let supported = &self.supported_kubernetes;
        if let (Some(first), Some(last)) = (supported.first(), supported.last()) {
            writeln!(f, "supported Kubernetes versions: {first} to {last}")?;
        }
        let Some(provider) = &self.provider else {
            return Ok(());
        };
        write!(f, "provider cluster: Kubernetes {}", provider.kubernetes)?;
        let parts = [("KubeVirt", &provider.kubevirt), ("CDI", &provider.cdi)];
        for (name, version) in parts {
            if let Some(version) = version {
                write!(f, ", {name} {version}")?;
            }
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_provider_cluster_are_one_line() {
        let versions = VersionReport {
            own: BuildVersion {
                version: "1.2.3",
                commit: Some("abc"),
            },
            supported_kubernetes: vec!["1.31".to_owned(), "1.32".to_owned()],
            provider: Some(ProviderReport {
                server: "https://server".to_owned(),
                kubernetes: "v1.34.2".to_owned(),
                kubevirt: Some("v1.9.0".to_owned()),
                cdi: None,
            }),
        };
        let expected = "kvshoot 1.2.3 (abc)\nsupported Kubernetes versions: 1.31 to 1.32\nprovider cluster: Kubernetes v1.34.2, KubeVirt v1.9.0\n";
        assert_eq!(versions.to_string(), expected);
    }
}
