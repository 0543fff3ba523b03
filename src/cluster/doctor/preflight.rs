//! Checks before the first write: installed products and permissions.

use super::permissions::{
    Permission, UsedFeatures, required, required_for_instancetypes, required_to_delete,
};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::objects::access_review::PartialRulesReview;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::read;
use crate::state::names;
use futures::future::try_join_all;
use serde_json::json;

impl ApiClient {
    /// Checks that KubeVirt and CDI are installed, and Multus if the shoot uses networks.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] with all products that are not installed.
    pub(crate) async fn check_installed(&self, uses_networks: bool) -> Result<(), Error> {
        let mut wanted = vec![
            (&resources::VIRTUAL_MACHINE, "KubeVirt"),
            (&resources::DATA_VOLUME, "CDI"),
        ];
        if uses_networks {
            wanted.push((&resources::NETWORK, "Multus"));
        }
        let checks = wanted.into_iter().map(async |(resource, product)| {
            let is_there = self.serves(resource).await?;
            Ok::<_, Error>((!is_there).then(|| {
                let api = resource.api_version();
                format!("{product} ({} of {api})", resource.kind)
            }))
        });
        let missing: Vec<String> = try_join_all(checks).await?.into_iter().flatten().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        let server = self.server();
        Err(Error::Missing(format!(
            "not installed in {server}: {missing}"
        )))
    }

    /// Permissions in the namespace that a run lacks.
    pub(crate) async fn missing_permissions(
        &self,
        used: UsedFeatures,
    ) -> Result<Vec<Permission>, Error> {
        self.missing_among(required(used)).await
    }

    /// Permissions on instancetypes and preferences that a run lacks.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(crate) async fn missing_instancetype_permissions(&self) -> Result<Vec<Permission>, Error> {
        self.missing_among(required_for_instancetypes()).await
    }

    /// Permissions in the namespace that a deletion lacks.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(crate) async fn missing_delete_permissions(&self) -> Result<Vec<Permission>, Error> {
        let used = UsedFeatures {
            networks: self.serves(&resources::NETWORK).await?,
            snapshots: self.serves(&resources::VOLUME_SNAPSHOT).await?,
        };
        self.missing_among(required_to_delete(used)).await
    }

    /// The permissions of these that are not granted in the namespace. One request; empty if the server cannot decide.
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
        let answer = self.review(resource_ref, &review).await?;
        let review: PartialRulesReview = read(&resources::RULES_REVIEW, &answer)?;
        if review.status.incomplete {
            return Ok(Vec::new());
        }
        let rules = review.status.resource_rules;
        let missing = rights.filter(|right| !rules.iter().any(|it| right.is_granted_by(it)));
        Ok(missing.collect())
    }

    /// Creates the namespace unless it exists.
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

    /// Deletes the namespace if kvshoot created it; returns whether it did.
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
        let PartialObject { metadata } = read(&resources::NAMESPACE, &existing)?;
        if metadata.label(names::MANAGED_BY) != Some(names::KVSHOOT) {
            return Ok(false);
        }
        match self
            .delete(resource_ref, &metadata.uid, None, WRITE_TIMEOUT)
            .await
        {
            Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
