//! ConfigMaps.

use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialConfigMap {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) data: BTreeMap<String, String>,
}

impl PartialConfigMap {
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.data.get(key).map(String::as_str)
    }
}
