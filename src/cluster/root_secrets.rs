//! Copies of the Secrets that a shoot cannot be restored without.

use super::client::api_client::ApiClient;
use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use super::objects::core::secret::PartialSecret;
use super::objects::reader::read;
use crate::render::control_plane::certificate::{KEYS, ROOTS};
use crate::state::names;
use futures::future::try_join_all;
use std::collections::BTreeMap;

/// A Secret with its data. Not `Debug`: they must not be printed.
pub(crate) struct SecretCopy {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) secret_type: String,
    /// In base64.
    pub(crate) data: BTreeMap<String, String>,
}

impl ApiClient {
    /// Reads the roots and keys of a shoot, and the Secret with its manifest if it has one.
    ///
    /// # Errors
    ///
    /// One of them does not exist, or belongs to someone else: a backup without it would be worthless.
    pub(crate) async fn root_secrets(
        &self,
        id: &str,
        manifest: Option<&str>,
    ) -> Result<Vec<SecretCopy>, Error> {
        let parts = ROOTS
            .iter()
            .map(|it| it.0)
            .chain(KEYS.iter().map(|it| it.0));
        let names = parts.map(|part| names::control_plane(id, part));
        let names = names.chain(manifest.map(str::to_owned));
        let reads = names.map(async |name| {
            let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), &name);
            let existing = self.get_secret(resource_ref).await?;
            let secret: PartialSecret = read(&resources::SECRET, &existing)?;
            if !secret.metadata.belongs_to(id) {
                return Err(Error::NotOwned {
                    what: resource_ref.request_info("get"),
                });
            }
            let labels = secret.metadata.labels.clone();
            let annotations = secret.metadata.annotations.clone();
            let (secret_type, data) = secret.into_data();
            Ok(SecretCopy {
                name,
                labels,
                annotations,
                secret_type,
                data,
            })
        });
        try_join_all(reads).await
    }
}
