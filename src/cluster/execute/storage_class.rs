//! Removal of a StorageClass of the shoot that no volume type has any longer.

use super::adopt::with_preconditions;
use super::executor::Executor;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::reader::read;
use crate::cluster::objects::storage::{ClaimClass, VolumeClass};
use crate::state::action::DeleteTarget;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names;
use serde::de::DeserializeOwned;
use serde_json::json;

impl Executor {
    /// Leaves a StorageClass to the users of the shoot if they have volumes or claims of it, which could otherwise not
    /// be expanded, and claims not bound. It is not the default any longer. Returns true if it was left.
    ///
    /// # Errors
    ///
    /// A request fails; then nothing is known, and nothing may be deleted.
    pub(super) async fn leave_used_class(&self, target: &DeleteTarget) -> Result<bool, Error> {
        let key = &target.key;
        if (key.side, key.kind) != (ClusterSide::Shoot, ObjectKind::StorageClass) {
            return Ok(false);
        }
        let volumes = self.inside::<VolumeClass>(&resources::VOLUME).await?;
        let mut is_used = volumes.iter().any(|it| *it.name() == *key.name);
        if !is_used {
            let claims = self.inside::<ClaimClass>(&resources::CLAIM).await?;
            is_used = claims.iter().any(|it| it.name() == Some(&key.name));
        }
        if !is_used {
            return Ok(false);
        }
        // Without the hash, the planner takes it for an object of others.
        let patch = json!({
            "metadata": { "annotations": { names::SPEC_HASH: null, names::DEFAULT_CLASS: "false" } }
        });
        let patch = with_preconditions(patch, &target.uid, &target.version);
        let scope = (key.side, key.kind);
        let answer = self
            .client(key.side)?
            .patch(
                self.resource_ref(scope, &key.name),
                &patch,
                self.write_timeout()?,
            )
            .await?;
        self.store_object(scope, &answer)?;
        Ok(true)
    }

    /// Reads all objects of a kind in the shoot.
    async fn inside<T: DeserializeOwned>(
        &self,
        resource: &'static Resource,
    ) -> Result<Vec<T>, Error> {
        let client = self.client(ClusterSide::Shoot)?;
        let listed = client.list(ResourceRef::all(resource, None), None).await?;
        let items = listed.items.iter();
        items.map(|it| read(resource, it)).collect()
    }
}
