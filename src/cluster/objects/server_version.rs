//! Version of an API server.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialServerVersion {
    /// `v1.33.1`; empty if the server does not report it.
    #[serde(default)]
    pub(crate) git_version: String,
}
