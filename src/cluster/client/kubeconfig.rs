//! Kubeconfigs of shoots.

use super::certificate_authority::ClientCertificate;
use crate::state::json::SecretJson;
use base64::Engine as _;
use secrecy::ExposeSecret as _;
use serde_json::json;
use std::path::Path;

/// A kubeconfig whose client certificate and key are in the file [`ClientCertificate::pem`] is written to. Clients read
/// that file again when it changes.
pub(crate) fn kubeconfig_with_file(
    name: &str,
    url: &str,
    credentials: &ClientCertificate,
    file: &Path,
) -> SecretJson {
    let mut config = kubeconfig(name, url, credentials);
    config["users"][0]["user"] = json!({ "client-certificate": file, "client-key": file });
    config
}

/// A self-contained kubeconfig.
pub(crate) fn kubeconfig(name: &str, url: &str, credentials: &ClientCertificate) -> SecretJson {
    let coded = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": {
            "server": url,
            "certificate-authority-data": coded(&credentials.ca),
        } }],
        "users": [{ "name": name, "user": {
            "client-certificate-data": coded(&credentials.certificate),
            "client-key-data": coded(credentials.key.expose_secret()),
        } }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        "current-context": name,
    })
    .into()
}
