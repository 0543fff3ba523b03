//! The objects of the checks. Pods meet the PodSecurity standard `restricted`.

use serde_json::{Value, json};

/// Port of HTTP of the agnhost server.
pub(super) const HTTP_PORT: u16 = 8080;
/// Port of UDP of the agnhost server.
pub(super) const UDP_PORT: u16 = 8081;
/// Label with the name of the object that a pod belongs to.
pub(super) const APP: &str = "app";
/// Name of the DaemonSet with a pod on every node.
pub(super) const AGENT: &str = "agent";
/// Name of the Deployment behind the Services.
pub(super) const WEB: &str = "web";
/// Pods of [`WEB`].
pub(super) const REPLICAS: usize = 2;
/// A user that is not root.
const USER: u32 = 65534;

/// A namespace that no other run uses.
pub(super) fn namespace(label: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "generateName": "kvshoot-conformance-",
            "labels": {
                label: "true",
                "pod-security.kubernetes.io/enforce": "restricted",
            },
        },
    })
}

/// Runs `script` in a shell, or the image's own command with `args`.
pub(super) enum Run<'a> {
    Args(&'a [&'a str]),
    Script(&'a str),
}

/// A container that may be changed before it is used.
pub(super) fn container(image: &str, run: &Run<'_>) -> Value {
    let mut container = json!({
        "name": "main",
        "image": image,
        "resources": { "requests": { "cpu": "10m", "memory": "16Mi" } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
        },
    });
    match run {
        Run::Args(args) => container["args"] = json!(args),
        Run::Script(script) => container["command"] = json!(["/bin/sh", "-c", script]),
    }
    container
}

/// The server that the other checks ask: its name, its clients, other servers, and the output of commands.
pub(super) fn server(image: &str) -> Value {
    let (http, udp) = (HTTP_PORT.to_string(), UDP_PORT.to_string());
    let args = ["netexec", "--http-port", &http, "--udp-port", &udp];
    let mut container = container(image, &Run::Args(&args));
    container["readinessProbe"] = json!({
        "httpGet": { "path": "/healthz", "port": HTTP_PORT },
        "periodSeconds": 2,
        "timeoutSeconds": 5,
    });
    container
}

/// The specification of a pod with these containers.
pub(super) fn pod_spec(containers: &[Value]) -> Value {
    json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": containers,
    })
}

/// A pod that is not restarted when it ends.
pub(super) fn pod(name: &str, mut spec: Value) -> Value {
    spec["restartPolicy"] = "Never".into();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "labels": { APP: name } },
        "spec": spec,
    })
}

/// A template whose pods have the label of `name`.
fn template(name: &str, spec: &Value) -> Value {
    json!({ "metadata": { "labels": { APP: name } }, "spec": spec })
}

/// One server on every node that accepts pods.
pub(super) fn agents(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": AGENT },
        "spec": {
            "selector": { "matchLabels": { APP: AGENT } },
            "template": template(AGENT, &pod_spec(&[server(image)])),
        },
    })
}

/// Servers that are replaced one after another, and finish their requests before they end.
pub(super) fn web(image: &str) -> Value {
    let mut container = server(image);
    // Until all nodes know that the pod ends.
    container["lifecycle"] = json!({ "preStop": { "exec": { "command": ["sleep", "10"] } } });
    let mut spec = pod_spec(&[container]);
    spec["terminationGracePeriodSeconds"] = 30.into();
    spec["topologySpreadConstraints"] = json!([{
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": { "matchLabels": { APP: WEB } },
    }]);
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": WEB },
        "spec": {
            "replicas": REPLICAS,
            "strategy": { "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "selector": { "matchLabels": { APP: WEB } },
            "template": template(WEB, &spec),
        },
    })
}

/// A Service for the servers of `app`, on port 80 of TCP and UDP.
pub(super) fn service(name: &str, app: &str, mut spec: Value) -> Value {
    spec["selector"] = json!({ APP: app });
    spec["ports"] = json!([
        { "name": "http", "port": 80, "targetPort": HTTP_PORT },
        { "name": "udp", "port": 80, "targetPort": UDP_PORT, "protocol": "UDP" },
    ]);
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name }, "spec": spec })
}
