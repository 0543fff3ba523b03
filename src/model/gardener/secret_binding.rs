//! SecretBinding and Secret with the kubeconfig of the provider cluster.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shoot::Metadata;
use crate::model::scalar::Unused;

/// Reference to the Secret with the kubeconfig of the provider cluster
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretBinding {
    /// Always core.gardener.cloud/v1beta1
    pub(crate) api_version: String,
    /// Always SecretBinding
    pub(crate) kind: String,
    /// Name of the SecretBinding, which Shoots refer to
    pub(crate) metadata: Metadata,
    /// Provider type
    pub(crate) provider: Option<SecretBindingProvider>,
    /// Secret with the kubeconfig of the provider cluster
    pub(crate) secret_ref: SecretReference,
    /// No effect: Quotas of Gardener are not enforced; use a ResourceQuota in the provider namespace
    pub(crate) quotas: Option<Unused>,
}

/// Reference to the Secret with the kubeconfig of the provider cluster, the form that replaced SecretBinding
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CredentialsBinding {
    /// Always security.gardener.cloud/v1alpha1
    pub(crate) api_version: String,
    /// Always CredentialsBinding
    pub(crate) kind: String,
    /// Name of the CredentialsBinding, which Shoots refer to
    pub(crate) metadata: Metadata,
    /// Provider type
    pub(crate) provider: Option<SecretBindingProvider>,
    /// Secret with the kubeconfig of the provider cluster
    pub(crate) credentials_ref: CredentialsReference,
    /// No effect: Quotas of Gardener are not enforced; use a ResourceQuota in the provider namespace
    pub(crate) quotas: Option<Unused>,
}

/// Reference to credentials
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CredentialsReference {
    /// Always v1
    #[schemars(length(min = 1))]
    pub(crate) api_version: String,
    /// Must be Secret
    #[schemars(length(min = 1))]
    pub(crate) kind: String,
    /// Name of the Secret
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Namespace of the Secret; that of the CredentialsBinding when absent
    pub(crate) namespace: Option<String>,
}

/// Provider type
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SecretBindingProvider {
    /// kubevirt, alone or in a list separated by commas
    #[serde(rename = "type")]
    pub(crate) type_: String,
}

/// Reference to a Secret
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SecretReference {
    /// Name of the Secret
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Namespace of the Secret; that of the SecretBinding when absent
    pub(crate) namespace: Option<String>,
}

/// Secret with the kubeconfig of the provider cluster in the key kubeconfig
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Secret {
    /// Always v1
    pub(crate) api_version: String,
    /// Always Secret
    pub(crate) kind: String,
    /// Name of the Secret
    pub(crate) metadata: Metadata,
    /// Type of the Secret; any type can hold a kubeconfig
    #[serde(rename = "type")]
    pub(crate) type_: Option<String>,
    /// Values in base64, by key
    #[serde(default)]
    pub(crate) data: BTreeMap<String, String>,
    /// Values in plain text, by key
    #[serde(default)]
    pub(crate) string_data: BTreeMap<String, String>,
    /// Specifies whether the Secret is immutable; kvshoot only reads it
    pub(crate) immutable: Option<bool>,
}

/// Prints only the name, so that values do not get into logs.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("name", &self.metadata.name)
            .finish_non_exhaustive()
    }
}
