//! The konnectivity agents, through which the API server reaches kubelets, webhooks and aggregated APIs.

use super::context::SystemContext;
use super::objects::service_account;
use super::pods::{PROBE_SECONDS, confined, field, mount_read_only, on_every_node};
use crate::render::component::Component;
use crate::render::control_plane::konnectivity::AUDIENCE;
use crate::render::images::image;
use serde_json::{Value, json};

const NAME: &str = "konnectivity-agent";
const FILES: &str = "/var/run/secrets/konnectivity";
const ADMIN_PORT: u16 = 8133;
const HEALTH_PORT: u16 = 8134;
/// Also the longest time that a new server has no agent.
const DIAL_SECONDS: u8 = 10;

pub(crate) fn component(context: &SystemContext) -> Component {
    Component {
        name: NAME,
        title: "Deploy konnectivity agents".into(),
        objects: vec![service_account(NAME), daemon_set(context)],
    }
}

/// On every node and on the host network, so that it depends neither on two chosen machines nor on the pod network.
fn daemon_set(context: &SystemContext) -> Value {
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

/// The agent's token, and the CA that verifies the server.
fn identity() -> Value {
    json!([
        { "serviceAccountToken": { "path": "token", "audience": AUDIENCE, "expirationSeconds": 3600 } },
        { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
    ])
}

fn container(context: &SystemContext) -> Value {
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
            // The server dials a kubelet through the agent with its address.
            "--agent-identifiers=ipv4=$(HOST_IP)",
            format!("--admin-server-port={ADMIN_PORT}"),
            "--health-server-host=127.0.0.1",
            format!("--health-server-port={HEALTH_PORT}"),
            // Load balancers drop idle connections.
            "--keepalive-time=30s",
            // Agents find a server that a rolling update adds only by dialing again and again. Each dial is a TLS
            // handshake and a TokenReview, and by default there is one per second.
            "--sync-forever",
            format!("--sync-interval={DIAL_SECONDS}s"),
            "--sync-interval-cap=30s",
            // The program's own default is 4, which logs every packet.
            "--v=0",
        ],
        "env": [field("HOST_IP", "status.hostIP")],
        "livenessProbe": {
            "httpGet": { "host": "127.0.0.1", "path": "/healthz", "port": HEALTH_PORT },
            "initialDelaySeconds": 15,
            "timeoutSeconds": 15,
        },
        "readinessProbe": {
            "httpGet": { "host": "127.0.0.1", "path": "/readyz", "port": HEALTH_PORT },
            "timeoutSeconds": PROBE_SECONDS,
        },
        "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
        "securityContext": confined(),
        "volumeMounts": [mount_read_only("identity", FILES)],
    })
}
