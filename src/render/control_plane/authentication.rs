//! Whom the API server believes: an AuthenticationConfiguration.

use super::context::Context;
use crate::model::{KubeApiServer, OidcConfig};
use crate::render::images::minor;
use serde_json::{Value, json};

/// What probes and `kubeadm join` ask for before they have credentials.
const OPEN: [&str; 4] = [
    "/livez",
    "/readyz",
    "/healthz",
    "/api/v1/namespaces/kube-public/configmaps/cluster-info",
];

/// None where there is nothing to say, and flags say the rest.
pub(crate) fn configuration(context: &Context, settings: &KubeApiServer) -> Option<Value> {
    let minor = minor(context.shoot);
    let mut configuration = json!({
        "apiVersion": if minor < 34 { "apiserver.config.k8s.io/v1beta1" } else { "apiserver.config.k8s.io/v1" },
        "kind": "AuthenticationConfiguration",
    });
    if limits_anonymous(minor) {
        configuration["anonymous"] = match settings.enable_anonymous_authentication {
            Some(true) => json!({ "enabled": true }),
            _ => {
                let conditions = OPEN.map(|it| json!({ "path": it }));
                json!({ "enabled": true, "conditions": conditions })
            }
        };
    }
    let authenticator = settings.oidc_config.as_ref().and_then(authenticator);
    if let Some(it) = &authenticator {
        configuration["jwt"] = json!([it]);
    }
    (limits_anonymous(minor) || authenticator.is_some()).then_some(configuration)
}

/// Whether the file can say on which paths requests need no credentials.
pub(crate) fn limits_anonymous(minor: u64) -> bool {
    minor >= 32
}

/// What the flags `--oidc-…` would do.
fn authenticator(oidc: &OidcConfig) -> Option<Value> {
    let (url, client) = (oidc.issuer_url.as_ref()?, oidc.client_id.as_ref()?);
    let mut issuer = json!({ "url": url, "audiences": [client] });
    if let Some(roots) = &oidc.ca_bundle {
        issuer["certificateAuthority"] = json!(roots);
    }
    let claim = oidc.username_claim.as_deref().unwrap_or("sub");
    let prefix = match oidc.username_prefix.as_deref() {
        Some("-") => String::new(),
        Some(given) => given.to_owned(),
        None if claim == "email" => String::new(),
        None => format!("{url}#"),
    };
    let mut mappings = json!({ "username": { "claim": claim, "prefix": prefix } });
    if let Some(groups) = &oidc.groups_claim {
        let prefix = oidc.groups_prefix.as_deref().unwrap_or_default();
        mappings["groups"] = json!({ "claim": groups, "prefix": prefix });
    }
    let mut authenticator = json!({ "issuer": issuer, "claimMappings": mappings });
    let required = oidc.required_claims.iter().flatten();
    let rules: Vec<Value> = required
        .map(|(claim, value)| json!({ "claim": claim, "requiredValue": value }))
        .collect();
    if !rules.is_empty() {
        authenticator["claimValidationRules"] = json!(rules);
    }
    Some(authenticator)
}
