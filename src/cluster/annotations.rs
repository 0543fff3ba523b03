//! What people say of a shoot beside its manifest: annotations of its record.

use super::client::error::Error;
use super::client::request::{ResourceRef, WRITE_TIMEOUT};
use super::client::resources;
use super::queries::RecordSnapshot;
use crate::cluster::client::api_client::ApiClient;
use serde_json::{Value, json};

impl ApiClient {
    /// Sets annotations of a record, and takes away those that are null. Others stay, and so does what runs write.
    ///
    /// # Errors
    ///
    /// The record is gone, or may not be changed, or the server does not answer.
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
}
