//! What people say of a shoot beside its manifest: annotations of its record.

use super::client::error::Error;
use super::client::request::{Place, WRITE};
use super::client::resources;
use super::queries::RecordSeen;
use crate::cluster::client::api_client::Provider;
use serde_json::{Value, json};

impl Provider {
    /// Sets annotations of a record, and takes away those that are null. Others stay, and so does what runs write.
    ///
    /// # Errors
    ///
    /// The record is gone, or may not be changed, or the server does not answer.
    pub(crate) async fn annotate(
        &self,
        record: &RecordSeen,
        annotations: Value,
    ) -> Result<(), Error> {
        let place = Place::one(&resources::CONFIG_MAP, self.namespace(), &record.name);
        let patch = json!({ "metadata": { "uid": &*record.uid, "annotations": annotations } });
        self.patch(place, &patch, WRITE).await.map(drop)
    }
}
