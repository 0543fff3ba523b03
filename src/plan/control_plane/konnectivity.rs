//! The konnectivity server, through which the API server opens connections into the shoot. It is a sidecar of the API
//! server: the two talk through a socket that no other pod can access.

use super::flags::Flags;
use super::pod::{container, probe};
use super::volume::Volume;
use super::{Context, KONNECTIVITY_PORT};
use serde_json::{Value, json};

const NAME: &str = "konnectivity-server";
const ADMIN_PORT: u16 = 8133;
const HEALTH_PORT: u16 = 8134;
/// Audience of the agents' tokens.
pub(in crate::plan) const AUDIENCE: &str = "system:konnectivity-server";

pub(super) fn socket_directory() -> Volume {
    Volume::memory("konnectivity", "/run/konnectivity")
}

/// Path of the socket in [`socket_directory`].
pub(super) fn socket(directory: &Volume) -> String {
    directory.file("konnectivity-server.socket")
}

/// A native sidecar, so its socket exists before the API server starts. `serving` is the certificate that agents
/// verify, `client` contains the kubeconfig for the API server, which reviews the agents' tokens.
pub(super) fn sidecar(
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
        // An agent dials until it has connected to this many different servers.
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
