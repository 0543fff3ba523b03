//! Records of shoots, and values of single ConfigMaps and Secrets.

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use super::objects::core::config_map::PartialConfigMap;
use super::objects::core::secret::PartialSecret;
use super::objects::metadata::PartialObject;
use super::objects::reader::{read, read_all};
use crate::cluster::client::api_client::ApiClient;
use crate::state::hash::Hash;
use crate::state::names::{self, SPEC_HASH, role};
use crate::state::record::manifest_secret;
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Namespaces to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespaceScope {
    /// The namespace of the client.
    Current,
    All,
}

/// A record as stored; its data are interpreted by their writer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordSnapshot {
    pub(crate) namespace: Arc<str>,
    /// The technical ID.
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    /// The resourceVersion that was read.
    pub(crate) version: Arc<str>,
    /// Seconds since 1970, by the server's clock.
    pub(crate) created: Option<i64>,
    pub(crate) leaving: bool,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) data: BTreeMap<String, String>,
}

impl RecordSnapshot {
    /// Hash of the manifest that was applied last.
    pub(crate) fn spec_hash(&self) -> Hash {
        let known = self.annotations.get(SPEC_HASH);
        known.and_then(|it| Hash::parse(it)).unwrap_or_default()
    }
}

impl ApiClient {
    /// All shoots, by namespace and name.
    pub(crate) async fn records(
        &self,
        resource_ref: NamespaceScope,
    ) -> Result<Vec<RecordSnapshot>, Error> {
        let namespace = match resource_ref {
            NamespaceScope::Current => Some(&**self.namespace()),
            NamespaceScope::All => None,
        };
        let selector = names::role_selector(role::RECORD);
        let resource_ref = ResourceRef::all(&resources::CONFIG_MAP, namespace);
        let listed = self.list(resource_ref, Some(&selector)).await?;
        let config_maps = read_all(&resources::CONFIG_MAP, &listed.items)?;
        let mut records: Vec<_> = config_maps.into_iter().map(record).collect();
        records.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(records)
    }

    /// Names of all namespaces.
    pub(crate) async fn namespaces(&self) -> Result<Vec<String>, Error> {
        let listed = self
            .list(ResourceRef::all(&resources::NAMESPACE, None), None)
            .await?;
        let namespaces: Vec<PartialObject> = read_all(&resources::NAMESPACE, &listed.items)?;
        Ok(namespaces.into_iter().map(|it| it.metadata.name).collect())
    }

    /// The record of a shoot; None if the shoot does not exist.
    ///
    /// # Errors
    ///
    /// Also if a ConfigMap of that name does not belong to kvshoot.
    pub(crate) async fn record(&self, id: &str) -> Result<Option<RecordSnapshot>, Error> {
        let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, self.namespace(), id);
        let existing = match self.get_with_retry(resource_ref).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            other => other?,
        };
        let config_map: PartialConfigMap = read(&resources::CONFIG_MAP, &existing)?;
        if !config_map.metadata.belongs_to(id) {
            return Err(Error::NotOwned {
                what: resource_ref.request_info("get"),
            });
        }
        Ok(Some(record(config_map)))
    }

    /// The record with its whole manifest: user data is in a Secret.
    ///
    /// # Errors
    ///
    /// Also if the Secret does not exist or has another manifest.
    pub(crate) async fn complete_record(
        &self,
        record: RecordSnapshot,
    ) -> Result<RecordSnapshot, Error> {
        let Some(secret) = manifest_secret::name(&record.data) else {
            return Ok(record);
        };
        let missing = |problem: &str| {
            let shoot = names::display_name(&record.name);
            Error::Missing(format!(
                "Secret {secret} with the user data of shoot {shoot} {problem}; apply the manifest of the shoot again"
            ))
        };
        let resource_ref = ResourceRef::one(&resources::SECRET, &record.namespace, secret);
        let found = match self.get_secret(resource_ref).await {
            Err(Error::NotFound { .. }) => return Err(missing("not found")),
            other => other?,
        };
        let found: PartialSecret = read(&resources::SECRET, &found)?;
        let text = found.text(manifest_secret::MANIFEST).unwrap_or_default();
        let data = record.data.clone();
        let data = manifest_secret::complete(&record.name, data, text.expose_secret());
        let data = data.ok_or_else(|| missing("has another manifest than the record"))?;
        Ok(RecordSnapshot { data, ..record })
    }

    /// A value of a ConfigMap of the namespace; None without that key.
    pub(crate) async fn config_map_value(
        &self,
        config_map: &str,
        key: &str,
    ) -> Result<Option<String>, Error> {
        let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, self.namespace(), config_map);
        let existing = self.get_with_retry(resource_ref).await?;
        let config_map: PartialConfigMap = read(&resources::CONFIG_MAP, &existing)?;
        Ok(config_map.value(key).map(str::to_owned))
    }

    /// A value of a Secret of the namespace; None without that key, or if it is not text.
    pub(crate) async fn secret_value(
        &self,
        secret: &str,
        key: &str,
    ) -> Result<Option<SecretString>, Error> {
        let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), secret);
        let existing = self.get_secret(resource_ref).await?;
        let secret: PartialSecret = read(&resources::SECRET, &existing)?;
        let text = secret.text(key);
        Ok(text.filter(|it| !it.expose_secret().is_empty()))
    }

    /// The kubeconfig in a Secret of the namespace; None if it does not exist or reading it is forbidden.
    pub(crate) async fn kubeconfig(
        &self,
        secret: &str,
        key: &str,
    ) -> Result<Option<SecretString>, Error> {
        match self.secret_value(secret, key).await {
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => Ok(None),
            other => other,
        }
    }
}

fn record(config_map: PartialConfigMap) -> RecordSnapshot {
    let metadata = config_map.metadata;
    RecordSnapshot {
        namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
        name: metadata.name.as_str().into(),
        uid: metadata.uid.as_str().into(),
        version: metadata.resource_version.as_str().into(),
        created: metadata.created(),
        leaving: metadata.is_deleting(),
        annotations: metadata.annotations,
        data: config_map.data,
    }
}
