//! Versions of installed products.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::kubevirt::installation::PartialInstallation;
use crate::cluster::objects::reader::{read_response, read_valid};
use crate::cluster::objects::server_version::PartialServerVersion;

/// Versions of a provider cluster. None for products that are not installed, or may not be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderVersions {
    pub(crate) kubernetes: String,
    pub(crate) kubevirt: Option<String>,
    pub(crate) cdi: Option<String>,
}

impl ApiClient {
    /// The versions of Kubernetes, KubeVirt and CDI.
    ///
    /// # Errors
    ///
    /// The server does not answer. Missing permissions are part of the result.
    pub(crate) async fn versions(&self) -> Result<ProviderVersions, Error> {
        let kubernetes = self.kubernetes_version().await?;
        let kubevirt = self.installed_version(&resources::KUBEVIRT);
        let cdi = self.installed_version(&resources::CDI);
        let (kubevirt, cdi) = futures::future::join(kubevirt, cdi).await;
        Ok(ProviderVersions {
            kubernetes,
            kubevirt: kubevirt?,
            cdi: cdi?,
        })
    }

    /// The version of the API server; empty if it does not report it.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(crate) async fn kubernetes_version(&self) -> Result<String, Error> {
        const WHAT: &str = "version";
        let answer = self.get_path("/version", WHAT).await?;
        let version: PartialServerVersion = read_response(RequestInfo::get(WHAT), &answer)?;
        Ok(version.git_version)
    }

    /// The version in the status of an installation object.
    async fn installed_version(
        &self,
        resource: &'static Resource,
    ) -> Result<Option<String>, Error> {
        let objects = match self.list(ResourceRef::all(resource, None), None).await {
            Ok(listed) => listed.items,
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let installations: Vec<PartialInstallation> = read_valid(resource, &objects);
        let mut versions = installations
            .into_iter()
            .map(|it| it.status.observed_version);
        Ok(versions.find(|it| !it.is_empty()))
    }
}

/// Parses major and minor: `v1.33.1-eks` is (1, 33).
pub(crate) fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.find(|it: char| !it.is_ascii_digit());
    let minor = minor[..digits.unwrap_or(minor.len())].parse().ok()?;
    Some((major, minor))
}
