//! CertificateSigningRequests.

use super::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialSigningRequest {
    pub(crate) metadata: PartialObjectMeta,
    pub(crate) spec: SigningRequestSpec,
    #[serde(default)]
    pub(crate) status: SigningRequestStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SigningRequestSpec {
    pub(crate) signer_name: String,
    /// Set by the API server.
    pub(crate) username: String,
    /// Base64 of PEM.
    pub(crate) request: String,
    pub(crate) usages: Vec<String>,
    pub(crate) expiration_seconds: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SigningRequestStatus {
    pub(crate) conditions: Vec<SigningCondition>,
    pub(crate) certificate: Option<String>,
}

/// Its presence is enough: it has no status in old versions.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SigningCondition {
    /// Approved, Denied or Failed.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) message: String,
}
