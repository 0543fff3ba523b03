//! The konnectivity agents: by them the API server reaches kubelets, webhooks and aggregated APIs.

use super::context::Context;
use super::objects::service_account;
use super::pods::{confined, mount_read_only, on_every_node};
use crate::render::component::Component;
use crate::render::control_plane::konnectivity::AUDIENCE;
use crate::render::images::image;
use serde_json::{Value, json};

const NAME: &str = "konnectivity-agent";
const FILES: &str = "/var/run/secrets/konnectivity";
const ADMIN_PORT: u16 = 8133;
const HEALTH_PORT: u16 = 8134;

pub(crate) fn component(context: &Context) -> Component {
    Component {
        name: NAME,
        title: "Run konnectivity agents".into(),
        objects: vec![service_account(NAME), daemon_set(context)],
    }
}

/// On every node, and on its network: a way in that rests neither on two chosen machines nor on the pods' network.
fn daemon_set(context: &Context) -> Value {
    let pod = json!({
        "automountServiceAccountToken": false,
        "containers": [container(context)],
        "hostNetwork": true,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "volumes": [{ "name": "identity", "projected": { "sources": identity() } }],
    });
    on_every_node(NAME, Value::Null, pod)
}

/// Its own token, and the roots by which it knows the server.
fn identity() -> Value {
    json!([
        { "serviceAccountToken": { "path": "token", "audience": AUDIENCE, "expirationSeconds": 3600 } },
        { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
    ])
}

fn container(context: &Context) -> Value {
    let known = context.known;
    json!({
        "name": NAME,
        "image": image(context.shoot, NAME),
        "command": [
            "/proxy-agent",
            format!("--proxy-server-host={}", known.node_address.host),
            format!("--proxy-server-port={}", known.konnectivity_port),
            format!("--ca-cert={FILES}/ca.crt"),
            format!("--service-account-token-path={FILES}/token"),
            format!("--admin-server-port={ADMIN_PORT}"),
            "--health-server-host=127.0.0.1",
            format!("--health-server-port={HEALTH_PORT}"),
            // Load balancers forget connections on which nothing is said.
            "--keepalive-time=30s",
            "--sync-forever",
        ],
        "livenessProbe": {
            "httpGet": { "host": "127.0.0.1", "path": "/healthz", "port": HEALTH_PORT },
            "initialDelaySeconds": 15,
            "timeoutSeconds": 15,
        },
        "readinessProbe": {
            "httpGet": { "host": "127.0.0.1", "path": "/readyz", "port": HEALTH_PORT },
        },
        "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
        "securityContext": confined(),
        "volumeMounts": [mount_read_only("identity", FILES)],
    })
}
