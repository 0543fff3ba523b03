//! What people say of a shoot beside its manifest: annotations of its record.

use super::Provider;
use super::error::Error;
use super::kinds;
use super::look::RecordSeen;
use super::request::{Place, WRITE};
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
        let place = Place::one(&kinds::CONFIG_MAP, self.namespace(), &record.name);
        let patch = json!({ "metadata": { "uid": &*record.uid, "annotations": annotations } });
        self.patch(place, &patch, WRITE).await.map(drop)
    }
}
