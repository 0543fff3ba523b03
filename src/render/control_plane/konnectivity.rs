//! The konnectivity server, through which the API server opens connections into the shoot. It is a sidecar of the API
//! server: the two talk through a socket that no other pod can access.

use super::context::{ControlPlaneContext, KONNECTIVITY_PORT};
use super::parts::flags::{CIPHER_SUITES, Flags};
use super::parts::pod::{container, probe};
use super::parts::volume::PodVolume;
use serde_json::{Value, json};

const NAME: &str = "konnectivity-server";
const ADMIN_PORT: u16 = 8133;
const HEALTH_PORT: u16 = 8134;
/// Audience of the agents' tokens.
pub(crate) const AUDIENCE: &str = "system:konnectivity-server";

pub(crate) fn socket_directory() -> PodVolume {
    PodVolume::memory("konnectivity", "/run/konnectivity")
}

/// Path of the socket in [`socket_directory`].
pub(crate) fn socket(directory: &PodVolume) -> String {
    directory.file("konnectivity-server.socket")
}

/// A native sidecar, so its socket exists before the API server starts. `identity` contains its certificate, which agents
/// verify, and the kubeconfig for the API server, which reviews the agents' tokens.
pub(crate) fn sidecar(
    context: &ControlPlaneContext,
    socket_directory: &PodVolume,
    identity: &PodVolume,
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
        .set("cluster-cert", identity.file("tls.crt"))
        .set("cluster-key", identity.file("tls.key"))
        // It requires TLS 1.2 and has a flag for that only since 0.36.
        .set("cipher-suites", CIPHER_SUITES.join(","))
        .set("agent-namespace", "kube-system")
        .set("agent-service-account", "konnectivity-agent")
        .set("authentication-audience", AUDIENCE)
        .set("kubeconfig", identity.file("kubeconfig"))
        // An agent dials until it has connected to this many different servers.
        .set("server-count", context.replicas())
        // A kubelet is dialed by the agent of its own node, everything else by any agent.
        .set("proxy-strategies", "destHost,default")
        .set("keepalive-time", "1h")
        .set("frontend-keepalive-time", "1h")
        // The program's own default is 4, which logs every packet.
        .set("v", 0)
        .done();
    let mut it = container(
        context,
        NAME,
        command,
        ("20m", "32Mi"),
        &[socket_directory, identity],
    );
    it["restartPolicy"] = json!("Always");
    it["ports"] = json!([{ "name": "konnectivity", "containerPort": KONNECTIVITY_PORT }]);
    it["startupProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 1, 60);
    it["livenessProbe"] = probe("HTTP", HEALTH_PORT, "/healthz", 10, 3);
    it
}
