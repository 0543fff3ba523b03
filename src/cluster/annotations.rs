//! Changes of objects besides those of a run: settings that are not part of a manifest, wishes, and whether nodes accept
//! pods.

use super::client::error::Error;
use super::client::request::{ResourceRef, WRITE_TIMEOUT};
use super::client::resources;
use super::records::RecordSnapshot;
use crate::cluster::client::api_client::ApiClient;
use serde_json::{Value, json};

impl ApiClient {
    /// Sets annotations of the machine with this UID.
    ///
    /// # Errors
    ///
    /// It does not exist, changing it is forbidden, or the server does not answer.
    pub(crate) async fn annotate_machine(
        &self,
        machine: &str,
        uid: &str,
        annotations: Value,
    ) -> Result<(), Error> {
        let resource_ref = ResourceRef::one(&resources::VIRTUAL_MACHINE, self.namespace(), machine);
        let patch = json!({ "metadata": { "uid": uid, "annotations": annotations } });
        let patched = self.patch(resource_ref, &patch, WRITE_TIMEOUT);
        patched.await.map(drop)
    }

    /// Lets a node of a shoot accept new pods, or keeps them off.
    ///
    /// # Errors
    ///
    /// It does not exist, or an API server does not answer.
    pub(crate) async fn set_schedulable(
        &self,
        id: &str,
        node: &str,
        accepts_pods: bool,
    ) -> Result<(), Error> {
        let shoot = self.shoot_client(id).await?;
        let resource_ref = ResourceRef {
            name: Some(node),
            ..ResourceRef::all(&resources::NODE, None)
        };
        let unschedulable = (!accepts_pods).then_some(true);
        let patch = json!({ "spec": { "unschedulable": unschedulable } });
        let patched = shoot.patch(resource_ref, &patch, WRITE_TIMEOUT);
        patched.await.map(drop)
    }

    /// Sets annotations of a record and removes those whose value is null. Other annotations and all data stay.
    ///
    /// # Errors
    ///
    /// The record does not exist, changing it is forbidden, or the server does not answer.
    pub(crate) async fn annotate(
        &self,
        record: &RecordSnapshot,
        annotations: Value,
    ) -> Result<(), Error> {
        let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, self.namespace(), &record.name);
        let patch = json!({ "metadata": { "uid": &*record.uid, "annotations": annotations } });
        self.patch(resource_ref, &patch, WRITE_TIMEOUT)
            .await
            .map(drop)
    }
    /// Changes data of a record, unless it was changed since it was read. Null removes a key.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the record was changed, and those of [`ApiClient::annotate`].
    pub(crate) async fn change_record(
        &self,
        record: &RecordSnapshot,
        data: Value,
    ) -> Result<(), Error> {
        let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, self.namespace(), &record.name);
        let metadata = json!({ "uid": &*record.uid, "resourceVersion": &*record.version });
        let patch = json!({ "metadata": metadata, "data": data });
        self.patch(resource_ref, &patch, WRITE_TIMEOUT)
            .await
            .map(drop)
    }
}
