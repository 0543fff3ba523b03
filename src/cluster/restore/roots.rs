//! Roots and keys from a backup, and the record that owns them.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::objects::core::secret::PartialSecret;
use crate::cluster::objects::reader::read;
use crate::cluster::root_secrets::SecretCopy;
use crate::render::metadata::owner;
use crate::state::json::SecretJson;
use crate::state::names;
use crate::state::site::Site;
use serde_json::{Value, json};

impl ApiClient {
    /// Names of Secrets of a backup that do not exist.
    ///
    /// # Errors
    ///
    /// One of them exists with other data: what was made with it would be lost.
    pub(crate) async fn missing_secrets<'a>(
        &self,
        id: &str,
        secrets: &'a [SecretCopy],
    ) -> Result<Vec<&'a SecretCopy>, Error> {
        let mut missing = Vec::new();
        for secret in secrets {
            let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), &secret.name);
            let existing = match self.get_secret(resource_ref).await {
                Err(Error::NotFound { .. }) => {
                    missing.push(secret);
                    continue;
                }
                other => other?,
            };
            let existing: PartialSecret = read(&resources::SECRET, &existing)?;
            if !existing.metadata.belongs_to(id) {
                return Err(Error::NotOwned {
                    what: resource_ref.request_info("get"),
                });
            }
            let (_, data) = existing.into_data();
            if data != secret.data {
                return Err(Error::Missing(format!(
                    "Secret {} exists and differs from that of the backup: restore into another namespace, or delete the shoot first",
                    secret.name
                )));
            }
        }
        Ok(missing)
    }

    /// Creates a Secret of a backup, owned by the record of the shoot.
    pub(crate) async fn create_root_secret(
        &self,
        site: &Site<'_>,
        secret: &SecretCopy,
    ) -> Result<(), Error> {
        let mut labels = secret.labels.clone();
        labels.insert(names::SHOOT_UID.to_owned(), site.uid.to_owned());
        let object = SecretJson::from(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": secret.name,
                "namespace": site.namespace,
                "labels": labels,
                "annotations": secret.annotations,
                "ownerReferences": [owner(site)],
            },
            "type": secret.secret_type,
            "data": secret.data,
        }));
        let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), &secret.name);
        self.create_once(resource_ref, &object).await
    }

    /// Creates the record of a shoot.
    pub(crate) async fn create_record(&self, id: &str, record: &Value) -> Result<(), Error> {
        let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, self.namespace(), id);
        self.create_once(resource_ref, record).await
    }

    /// An object that exists was created by a request whose answer was lost.
    async fn create_once(
        &self,
        resource_ref: ResourceRef<'_>,
        object: &Value,
    ) -> Result<(), Error> {
        match self.create(resource_ref, object, WRITE_TIMEOUT).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
