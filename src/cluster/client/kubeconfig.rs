//! Kubeconfigs of shoots.

use super::certificate_authority::ClientCertificate;
use base64::Engine as _;
use serde_json::{Value, json};

/// Text of a kubeconfig that holds all that it needs.
pub(crate) fn kubeconfig(name: &str, url: &str, credentials: &ClientCertificate) -> Value {
    use secrecy::ExposeSecret as _;
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
}
