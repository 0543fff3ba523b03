//! Where the kubeconfig of the provider cluster comes from: SecretBinding and Secret.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shoot::Metadata;
use crate::model::scalar::Unused;

/// Which Secret holds the kubeconfig of the provider cluster
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretBinding {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) provider: Option<SecretBindingProvider>,
    pub(crate) secret_ref: SecretReference,
    pub(crate) quotas: Option<Unused>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SecretBindingProvider {
    #[serde(rename = "type")]
    pub(crate) type_: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SecretReference {
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

/// A Secret of the provider's credentials; its key is kubeconfig
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Secret {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    #[serde(default)]
    pub(crate) data: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) string_data: BTreeMap<String, String>,
    pub(crate) immutable: Option<bool>,
}

/// Its name and no more: what it holds shall not get into a log.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("name", &self.metadata.name)
            .finish_non_exhaustive()
    }
}
