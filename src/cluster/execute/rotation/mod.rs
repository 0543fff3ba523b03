//! Steps of rotations: the next content of a Secret, stored objects that are written again, and the record.

mod old_bundles;
mod rotated_secret;

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::certificate_authority::certificate_error;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::execute::executor::Executor;
use crate::cluster::json::text;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::core::secret::PartialSecret;
use crate::cluster::objects::reader::{read, read_all};
use crate::render::control_plane::certificate::subjects::FRONT_PROXY_CA;
use crate::state::action::IssuedSecret;
use crate::state::key::{ClusterSide, ObjectKey};
use crate::state::names;
use crate::state::record::ROTATION;
use crate::state::record::rotation::{Credential, KeyGeneration, RotationChange, RotationStep};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use rotated_secret::next_content;
use serde_json::{Value, json};

/// Stored objects that are written again at the same time.
const PARALLEL_WRITES: usize = 8;

impl Executor {
    /// Writes the content that a root or key has at the next step of its rotation.
    ///
    /// # Errors
    ///
    /// The Secret does not have the content of the step before, for example since an old backup of it was restored.
    pub(super) async fn rotate_secret(
        &self,
        key: &ObjectKey,
        issue: &IssuedSecret,
        generation: KeyGeneration,
    ) -> Result<(), Error> {
        let scope = (key.side, key.kind);
        let resource_ref =
            ResourceRef::one(&resources::SECRET, self.provider.namespace(), &key.name);
        let existing = self.provider.get_secret(resource_ref).await?;
        let secret: PartialSecret = read(&resources::SECRET, &existing)?;
        let metadata = &issue.object["metadata"];
        if !secret
            .metadata
            .belongs_to(text(&metadata["labels"][names::PART_OF]))
        {
            return Err(Error::NotOwned {
                what: resource_ref.request_info("update"),
            });
        }
        let annotation = |name| secret.metadata.annotation(name).unwrap_or_default();
        if annotation(names::SPEC_HASH) == text(&metadata["annotations"][names::SPEC_HASH]) {
            return self.store_object(scope, &existing);
        }
        let found = match annotation(names::GENERATION) {
            "" => KeyGeneration::default().to_string(),
            other => other.to_owned(),
        };
        let before = generation.before().map(|it| it.to_string());
        if before.as_ref() != Some(&found) {
            let before = before.unwrap_or_default();
            let message = format!(
                "{key} has the content {found} and not {before}, so its rotation cannot continue: restore the Secret from a backup of that time"
            );
            return Err(Error::Missing(message));
        }
        let made = next_content(&issue.what, &secret, self.provider.current_time());
        let made = made.map_err(|source| certificate_error(&key.name, source))?;
        self.replace(scope, &key.name, &made.merge_into(&issue.object))
            .await
    }

    /// Writes a change of the rotations to the record, after what the step that ends has to do.
    pub(super) async fn change_rotation(&self, change: &RotationChange) -> Result<(), Error> {
        let facts = self.observer.store.latest();
        let Some(record) = &facts.record else {
            return Err(Error::Missing("the record does not exist".to_owned()));
        };
        let mut rewritten = None;
        if let RotationChange::Advance { credential, from } = change {
            match (credential, from) {
                (_, RotationStep::Rewrite) => rewritten = Some(self.rewrite_encrypted().await?),
                (Credential::Ca, RotationStep::Drop) => {
                    self.ensure_no_old_api_server(&record.name).await?;
                    self.distrust(&record.name).await?;
                }
                _ => {}
            }
        }
        let time = self.provider.current_time();
        let next = record.rotation.after(change, time, rewritten);
        let next = serde_json::to_string(&next).expect("numbers and text");
        let mut patch = json!({
            "metadata": { "uid": &*record.uid },
            "data": { ROTATION: next },
        });
        if matches!(change, RotationChange::Command(_)) {
            patch["metadata"]["annotations"] = json!({ names::OPERATION: null });
        }
        self.patch_record_object(record, &patch).await
    }

    /// An API server that ends accepts certificates of the old CA, and would publish that CA again.
    async fn ensure_no_old_api_server(&self, id: &str) -> Result<(), Error> {
        let selector = format!(
            "{},{}={}",
            names::selector(id),
            names::COMPONENT,
            names::part::API_SERVER
        );
        let all = ResourceRef::all(&resources::POD, Some(self.provider.namespace()));
        let pods = self.provider.list(all, Some(&selector)).await?;
        let pods: Vec<PartialPod> = read_all(&resources::POD, &pods.items)?;
        match pods.into_iter().find(|it| it.metadata.is_deleting()) {
            Some(pod) => Err(Error::Terminating(pod.metadata.name)),
            None => Ok(()),
        }
    }

    /// Removes old CAs from what extension API servers trust. The API server only adds to them.
    async fn distrust(&self, id: &str) -> Result<(), Error> {
        let bundle = async |part| {
            let secret = names::control_plane(id, part);
            let authority = self.provider.certificate_authority(id, &secret).await;
            authority.map(|it| it.bundle)
        };
        let clients = bundle(names::part::CA).await?;
        let proxies = bundle(FRONT_PROXY_CA).await?;
        let patch = json!({
            "data": { "client-ca-file": clients, "requestheader-client-ca-file": proxies },
        });
        let resource_ref = ResourceRef::one(
            &resources::CONFIG_MAP,
            "kube-system",
            "extension-apiserver-authentication",
        );
        let client = self.client(ClusterSide::Shoot)?;
        let patched = client
            .patch(resource_ref, &patch, self.write_timeout()?)
            .await;
        match patched {
            // The API server creates it.
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes every encrypted object again, so that none is stored with the old key. The API server writes an object that
    /// has not changed if it is stored with another key than the first one. Returns the number of objects.
    async fn rewrite_encrypted(&self) -> Result<u64, Error> {
        let client = self.client(ClusterSide::Shoot)?;
        let all = ResourceRef::all(&resources::SECRET, None);
        let listed = client.list_metadata(all, None).await?.items;
        let writes = listed.into_iter().map(async |object| {
            self.rewrite(&client, &object["metadata"]).await?;
            Ok::<u64, Error>(1)
        });
        let writes = stream::iter(writes).buffer_unordered(PARALLEL_WRITES);
        writes.try_fold(0, async |sum, one| Ok(sum + one)).await
    }

    /// An object that another client has written or deleted meanwhile is not stored with the old key either.
    async fn rewrite(&self, client: &ApiClient, metadata: &Value) -> Result<(), Error> {
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let resource_ref = ResourceRef::one(&resources::SECRET, namespace, name);
        let write = async {
            let object = client.get_secret_to_replace(resource_ref).await?;
            client
                .replace(resource_ref, &object, self.write_timeout()?)
                .await
        };
        match write.await {
            Ok(_) | Err(Error::Conflict { .. } | Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
