//! Objects of a restored shoot that refer to what is gone, or that were valid once.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ListSelector, ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::read_all;
use crate::state::key::ObjectKind;
use crate::state::names;
use crate::state::site::Site;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;

/// Objects that were deleted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CleanedObjects {
    /// Names of Nodes without a machine.
    pub(crate) nodes: Vec<String>,
    pub(crate) attachments: usize,
    pub(crate) tokens: usize,
    pub(crate) requests: usize,
    /// Names of machines without a Node, which were restarted.
    pub(crate) restarted: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct PartialVolumeAttachment {
    #[serde(flatten)]
    object: PartialObject,
    spec: AttachmentSpec,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttachmentSpec {
    node_name: String,
}

/// A request for a certificate, with its author.
#[derive(Debug, Clone, Deserialize)]
struct PartialSigner {
    #[serde(flatten)]
    object: PartialObject,
    spec: SignerSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SignerSpec {
    username: String,
}

impl ApiClient {
    /// Deletes from a restored shoot, before its controllers run: Nodes whose machine is gone, attachments of volumes to
    /// them, bootstrap tokens, and requests for certificates of others than machines. Restarts machines without a Node.
    /// `provider` has the machines.
    ///
    /// # Errors
    ///
    /// An object cannot be listed or deleted. Repeating it deletes the rest.
    pub(crate) async fn clean_restored(
        &self,
        provider: &ApiClient,
        site: &Site<'_>,
    ) -> Result<CleanedObjects, Error> {
        let id = site.id;
        self.adopt_restored(site).await?;
        let machines = provider.machine_names(id).await?;
        let nodes = self.delete_all(&resources::NODE, None, |it| !machines.contains(it));
        let nodes = nodes.await?;
        let attachments = self.delete_attachments(&nodes).await?;
        let tokens = Some("type=bootstrap.kubernetes.io/token");
        let tokens = self
            .delete_all(&resources::SECRET, tokens, |_| true)
            .await?;
        Ok(CleanedObjects {
            requests: self.delete_requests(&machines).await?,
            nodes,
            attachments,
            tokens: tokens.len(),
            restarted: provider.restart_unknown_machines(self, id).await?,
        })
    }

    /// Makes kvshoot's own objects those of the record that there is now: in another namespace it has another UID.
    async fn adopt_restored(&self, site: &Site<'_>) -> Result<(), Error> {
        let selector = format!(
            "{},{}!={}",
            names::selector(site.id),
            names::SHOOT_UID,
            site.uid
        );
        let patch = json!({ "metadata": { "labels": { names::SHOOT_UID: site.uid } } });
        for kind in ObjectKind::GENERIC {
            let resource = Resource::of(*kind);
            let listed = match self
                .list(ResourceRef::all(resource, None), Some(&selector))
                .await
            {
                // A kind of the provider cluster, or of an add-on that is not installed.
                Err(Error::NotFound { .. }) => continue,
                other => other?,
            };
            let objects: Vec<PartialObject> = read_all(resource, &listed.items)?;
            for object in objects {
                let metadata = &object.metadata;
                let resource_ref = ResourceRef {
                    namespace: metadata.namespace.as_deref(),
                    name: Some(&metadata.name),
                    ..ResourceRef::all(resource, None)
                };
                unless_gone(self.patch(resource_ref, &patch, WRITE_TIMEOUT).await)?;
            }
        }
        Ok(())
    }

    /// Names of the machines of a shoot.
    async fn machine_names(&self, id: &str) -> Result<BTreeSet<String>, Error> {
        let resource_ref = ResourceRef::all(&resources::VIRTUAL_MACHINE, Some(self.namespace()));
        let listed = self.list(resource_ref, Some(&names::selector(id))).await?;
        let machines: Vec<PartialObject> = read_all(&resources::VIRTUAL_MACHINE, &listed.items)?;
        Ok(machines.into_iter().map(|it| it.metadata.name).collect())
    }

    /// Deletes the objects of a kind that are chosen by name. Returns their names.
    async fn delete_all(
        &self,
        resource: &'static Resource,
        fields: Option<&str>,
        is_chosen: impl Fn(&String) -> bool,
    ) -> Result<Vec<String>, Error> {
        let selector = ListSelector {
            labels: None,
            fields,
        };
        let listed = self.list_selected(ResourceRef::all(resource, None), selector);
        let objects: Vec<PartialObject> = read_all(resource, &listed.await?.items)?;
        let mut deleted = Vec::new();
        for object in objects {
            if is_chosen(&object.metadata.name) {
                self.delete_one(resource, &object).await?;
                deleted.push(object.metadata.name);
            }
        }
        Ok(deleted)
    }

    /// No driver runs on a machine that is gone, so nothing else would end the attachments.
    async fn delete_attachments(&self, nodes: &[String]) -> Result<usize, Error> {
        let resource = &resources::VOLUME_ATTACHMENT;
        let listed = self.list(ResourceRef::all(resource, None), None).await?;
        let mut attachments: Vec<PartialVolumeAttachment> = read_all(resource, &listed.items)?;
        attachments.retain(|it| nodes.contains(&it.spec.node_name));
        for attachment in &attachments {
            self.delete_one(resource, &attachment.object).await?;
            let name = &attachment.object.metadata.name;
            let resource_ref = ResourceRef {
                name: Some(name),
                ..ResourceRef::all(resource, None)
            };
            let patch = json!({ "metadata": { "finalizers": null } });
            unless_gone(self.patch(resource_ref, &patch, WRITE_TIMEOUT).await)?;
        }
        Ok(attachments.len())
    }

    /// Those of kubelets that run stay: they do not ask again.
    async fn delete_requests(&self, machines: &BTreeSet<String>) -> Result<usize, Error> {
        let resource = &resources::SIGNING_REQUEST;
        let listed = self.list(ResourceRef::all(resource, None), None).await?;
        let mut requests: Vec<PartialSigner> = read_all(resource, &listed.items)?;
        requests.retain(|it| {
            let node = it.spec.username.strip_prefix("system:node:");
            !node.is_some_and(|it| machines.contains(it))
        });
        for request in &requests {
            self.delete_one(resource, &request.object).await?;
        }
        Ok(requests.len())
    }

    async fn delete_one(
        &self,
        resource: &'static Resource,
        object: &PartialObject,
    ) -> Result<(), Error> {
        let metadata = &object.metadata;
        let resource_ref = ResourceRef {
            namespace: metadata.namespace.as_deref(),
            name: Some(&metadata.name),
            ..ResourceRef::all(resource, None)
        };
        let deleted = self.delete(resource_ref, &metadata.uid, None, WRITE_TIMEOUT);
        unless_gone(deleted.await)
    }
}

fn unless_gone<T>(answer: Result<T, Error>) -> Result<(), Error> {
    match answer {
        Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
