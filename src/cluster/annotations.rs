//! Changes of a shoot's record besides those of a run: settings that are not part of its manifest, and wishes.

use super::client::error::Error;
use super::client::request::{ResourceRef, WRITE_TIMEOUT};
use super::client::resources;
use super::records::RecordSnapshot;
use crate::cluster::client::api_client::ApiClient;
use serde_json::{Value, json};

impl ApiClient {
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
