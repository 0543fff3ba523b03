//! Secrets with their data, for the few that are read: kubeconfigs and certificate authorities.

use crate::cluster::objects::metadata::PartialObjectMeta;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Not `Debug`: its data must not be printed.
#[derive(Deserialize)]
pub(crate) struct PartialSecret {
    pub(crate) metadata: PartialObjectMeta,
    /// In base64.
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl PartialSecret {
    /// A value as text; None if it is missing or not UTF-8.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let bytes = STANDARD.decode(self.data.get(key)?).ok()?;
        String::from_utf8(bytes).ok()
    }
}
