//! Bootstrap tokens.

use crate::render::metadata::labels;
use crate::state::hash::Hash;
use crate::state::names::{self, TOKEN_GROUP, role};
use crate::state::site::Site;
use serde_json::{Value, json};

/// The Secret in the shoot; what makes it secret, and until when it holds, is filled in when it is written.
pub(crate) fn object(site: &Site, machine: &str) -> Value {
    let id = names::token_id(machine);
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": format!("bootstrap-token-{id}"),
            "namespace": "kube-system",
            "labels": labels(site, role::TOKEN),
            "annotations": { names::SPEC_HASH: Hash::of(&machine).to_string(), names::TOKEN_MACHINE: machine },
        },
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "description": format!("for machine {machine}"),
            "token-id": id,
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": TOKEN_GROUP,
        },
    })
}
