//! Records of shoots, and values of single ConfigMaps and Secrets.

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use super::objects::core::config_map::PartialConfigMap;
use super::objects::core::secret::PartialSecret;
use super::objects::metadata::PartialObject;
use super::objects::reader::{read, read_all};
use crate::cluster::client::api_client::ApiClient;
use crate::state::names::{self, role};
use secrecy::SecretString;
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
    /// Seconds since 1970, by the server's clock.
    pub(crate) created: Option<i64>,
    pub(crate) leaving: bool,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) data: BTreeMap<String, String>,
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
    ) -> Result<Option<String>, Error> {
        let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), secret);
        let existing = self.get_secret(resource_ref).await?;
        let secret: PartialSecret = read(&resources::SECRET, &existing)?;
        Ok(secret.text(key).filter(|it| !it.is_empty()))
    }

    /// The kubeconfig in a Secret of the namespace; None if it does not exist or reading it is forbidden.
    pub(crate) async fn kubeconfig(
        &self,
        secret: &str,
        key: &str,
    ) -> Result<Option<SecretString>, Error> {
        match self.secret_value(secret, key).await {
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => Ok(None),
            other => Ok(other?.map(SecretString::from)),
        }
    }
}

fn record(config_map: PartialConfigMap) -> RecordSnapshot {
    let metadata = config_map.metadata;
    RecordSnapshot {
        namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
        name: metadata.name.as_str().into(),
        uid: metadata.uid.as_str().into(),
        created: metadata.created(),
        leaving: metadata.is_deleting(),
        annotations: metadata.annotations,
        data: config_map.data,
    }
}
