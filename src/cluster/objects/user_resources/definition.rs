//! CustomResourceDefinitions.

use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialDefinition {
    pub(crate) metadata: PartialObjectMeta,
    spec: DefinitionSpec,
    #[serde(default)]
    status: DefinitionStatus,
}

#[derive(Debug, Clone, Deserialize)]
struct DefinitionSpec {
    #[serde(default)]
    versions: Vec<DefinitionVersion>,
}

#[derive(Debug, Clone, Deserialize)]
struct DefinitionVersion {
    name: String,
    #[serde(default)]
    served: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DefinitionStatus {
    stored_versions: Vec<String>,
}

impl PartialDefinition {
    /// Versions in which objects may be stored, and which are not served.
    pub(crate) fn unserved(&self) -> impl Iterator<Item = &String> {
        let is_served = |name: &str| {
            let mut versions = self.spec.versions.iter();
            versions.any(|it| it.served && it.name == name)
        };
        let stored = self.status.stored_versions.iter();
        stored.filter(move |it| !is_served(it))
    }
}
