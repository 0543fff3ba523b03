//! The server by which the API server opens connections into the shoot. It stands in the API server's pod: they
//! talk through a socket that nobody else sees.

use super::context::{Context, KONNECTIVITY_PORT};
use super::parts::flags::Flags;
use super::parts::pod::{container, probe};
use super::parts::volume::Volume;
use serde_json::{Value, json};

const NAME: &str = "konnectivity-server";
const ADMIN_PORT: u16 = 8133;
const HEALTH_PORT: u16 = 8134;
/// Whom the tokens of agents are for.
pub(crate) const AUDIENCE: &str = "system:konnectivity-server";

pub(crate) fn socket_directory() -> Volume {
    Volume::memory("konnectivity", "/run/konnectivity")
}

/// Where [`socket_directory`] is mounted.
pub(crate) fn socket(directory: &Volume) -> String {
    directory.file("konnectivity-server.socket")
}

/// A native sidecar: its socket is there before the API server starts. `serving` is the pair that agents verify,
/// `client` leads to the API server, which judges the agents' tokens.
pub(crate) fn sidecar(
    context: &Context,
    socket_directory: &Volume,
    serving: &Volume,
    client: &Volume,
) -> Value {
    let command = Flags::of("/proxy-server")
        .set("logtostderr", true)
        .set("mode", "grpc")
        .set("uds-name", socket(socket_directory))
        .set("delete-existing-uds-file", true)
        .set("server-port", 0)
        .set("agent-port", KONNECTIVITY_PORT)
        .set("admin-port", ADMIN_PORT)
        .set("health-port", HEALTH_PORT)
        .set("cluster-cert", serving.file("tls.crt"))
        .set("cluster-key", serving.file("tls.key"))
        .set("agent-namespace", "kube-system")
        .set("agent-service-account", "konnectivity-agent")
        .set("authentication-audience", AUDIENCE)
        .set("kubeconfig", client.file("kubeconfig"))
        // An agent dials until it has met so many different ones.
        .set("server-count", context.replicas())
        .set("proxy-strategies", "default")
        .set("keepalive-time", "1h")
        .set("frontend-keepalive-time", "1h")
        .done();
    let mut it = container(
        context,
        NAME,
        command,
        ("20m", "32Mi"),
        &[socket_directory, serving, client],
    );
    it["restartPolicy"] = json!("Always");
    it["ports"] = json!([{ "name": "konnectivity", "containerPort": KONNECTIVITY_PORT }]);
    it["startupProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 1, 60);
    it["livenessProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 10, 3);
    it
}
