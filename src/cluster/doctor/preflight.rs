//! Before the first write: what is installed, and what may be done.

use super::permissions::{Permission, required, required_for_instancetypes, required_to_delete};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::json::{items, text};
use crate::plan::names;
use futures::future::try_join_all;
use serde_json::json;

impl ApiClient {
    /// That KubeVirt and CDI are installed, and Multus where the shoot uses networks.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] names all that is not there.
    pub(crate) async fn check_installed(&self, uses_networks: bool) -> Result<(), Error> {
        let mut wanted = vec![
            (&resources::VIRTUAL_MACHINE, "KubeVirt"),
            (&resources::DATA_VOLUME, "the Containerized Data Importer"),
        ];
        if uses_networks {
            wanted.push((&resources::NETWORK, "Multus"));
        }
        let looks = wanted.into_iter().map(async |(resource, product)| {
            let is_there = self.serves(resource).await?;
            Ok::<_, Error>((!is_there).then(|| {
                let api = resource.api_version();
                format!("{product} ({} of {api})", resource.kind)
            }))
        });
        let missing: Vec<String> = try_join_all(looks).await?.into_iter().flatten().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        let server = self.server();
        Err(Error::Missing(format!("{server} does not have {missing}")))
    }

    /// What a run would not be allowed to do in the namespace.
    pub(crate) async fn missing_permissions(
        &self,
        uses_networks: bool,
    ) -> Result<Vec<Permission>, Error> {
        self.missing_among(required(uses_networks)).await
    }

    /// What a run would not be allowed to do with instancetypes and preferences that a shoot keeps.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(crate) async fn missing_instancetype_permissions(&self) -> Result<Vec<Permission>, Error> {
        self.missing_among(required_for_instancetypes()).await
    }

    /// What a run that only deletes would not be allowed to do in the namespace.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(crate) async fn missing_delete_permissions(&self) -> Result<Vec<Permission>, Error> {
        let has_networks = self.serves(&resources::NETWORK).await?;
        self.missing_among(required_to_delete(has_networks)).await
    }

    /// Which of these are not given in the namespace. One request; none when the server cannot say.
    pub(crate) async fn missing_among(
        &self,
        rights: impl Iterator<Item = Permission>,
    ) -> Result<Vec<Permission>, Error> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": { "namespace": &**self.namespace() },
        });
        let resource_ref = ResourceRef::all(&resources::RULES_REVIEW, None);
        let status = self.review(resource_ref, &review).await?["status"].take();
        // With a webhook that authorizes, nothing can be told from the rules.
        if status["incomplete"] == true {
            return Ok(Vec::new());
        }
        let rules = items(&status["resourceRules"]);
        let missing = rights.filter(|right| !rules.iter().any(|it| right.is_granted_by(it)));
        Ok(missing.collect())
    }

    /// Makes the namespace unless it is there.
    pub(crate) async fn create_namespace(&self) -> Result<(), Error> {
        let name = &**self.namespace();
        let object = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": name, "labels": { names::MANAGED_BY: names::KVSHOOT } },
        });
        let resource_ref = ResourceRef {
            resource: &resources::NAMESPACE,
            namespace: None,
            name: Some(name),
        };
        match self.create(resource_ref, &object, WRITE_TIMEOUT).await {
            Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes the namespace if kvshoot made it; says whether.
    pub(crate) async fn delete_namespace(&self) -> Result<bool, Error> {
        let resource_ref = ResourceRef {
            resource: &resources::NAMESPACE,
            namespace: None,
            name: Some(self.namespace()),
        };
        let existing = match self.get_with_retry(resource_ref).await {
            Err(Error::NotFound { .. }) => return Ok(false),
            other => other?,
        };
        let metadata = &existing["metadata"];
        if metadata["labels"][names::MANAGED_BY] != names::KVSHOOT {
            return Ok(false);
        }
        let uid = text(&metadata["uid"]);
        match self.delete(resource_ref, uid, None, WRITE_TIMEOUT).await {
            Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
