//! Resources of a group, from discovery.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialApiResourceList {
    #[serde(default)]
    resources: Vec<PartialApiResource>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialApiResource {
    /// Plural; with a slash for subresources.
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) namespaced: bool,
}

impl PartialApiResourceList {
    pub(crate) fn has(&self, plural: &str) -> bool {
        self.resources.iter().any(|it| it.name == plural)
    }

    /// Resources without subresources.
    pub(crate) fn into_kinds(self) -> impl Iterator<Item = PartialApiResource> {
        let resources = self.resources.into_iter();
        resources.filter(|it| !it.name.contains('/'))
    }
}
