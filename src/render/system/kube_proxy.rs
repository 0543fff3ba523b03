//! kube-proxy: Services on every node.

use super::context::SystemContext;
use super::objects::{account, checksum, cluster_role_binding, config_map, service_account};
use super::pods::{PROBE_SECONDS, field, host_path, mount, mount_read_only, on_every_node};
use crate::render::component::Component;
use crate::render::images::image;
use serde_json::{Value, json};

const NAME: &str = "kube-proxy";
const DIRECTORY: &str = "/var/lib/kube-proxy";
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns None if the manifest disables it.
pub(crate) fn component(context: &SystemContext) -> Option<Component> {
    let settings = context.shoot.manifest.spec.kubernetes.kube_proxy.as_ref();
    if settings.and_then(|it| it.enabled) == Some(false) {
        return None;
    }
    let config = config_map(
        NAME,
        &json!({
            "config.conf": json(&configuration(context)),
            "kubeconfig.conf": json(&kubeconfig(context)),
        }),
    );
    let daemon_set = daemon_set(context, &config);
    Some(Component {
        name: NAME,
        title: "Deploy kube-proxy".into(),
        objects: vec![
            service_account(NAME),
            cluster_role_binding(
                "kvshoot:kube-proxy",
                "system:node-proxier",
                &[account(NAME)],
            ),
            config,
            daemon_set,
        ],
    })
}

fn configuration(context: &SystemContext) -> Value {
    let settings = context.shoot.manifest.spec.kubernetes.kube_proxy.as_ref();
    let mode = settings.and_then(|it| it.mode.as_deref());
    let gates = settings.and_then(|it| it.feature_gates.as_ref());
    let pods = &context.shoot.networking.pods;
    let any_address = if pods.contains(':') {
        "::/0"
    } else {
        "0.0.0.0/0"
    };
    let mut config = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": { "kubeconfig": format!("{DIRECTORY}/kubeconfig.conf") },
        "clusterCIDR": pods,
        // No limit by kube-proxy; the machine's own settings apply.
        "conntrack": { "maxPerCore": 0 },
        // Unset, it is reported as incomplete. `primary` is read from the node once, at the start, and after a restart a
        // VM has another address than its node still says.
        "nodePortAddresses": [any_address],
        "mode": mode.unwrap_or("IPTables").to_lowercase(),
    });
    if let Some(gates) = gates {
        config["featureGates"] = json!(gates);
    }
    config
}

/// Uses the node address, because the Service's address works only once kube-proxy runs.
fn kubeconfig(context: &SystemContext) -> Value {
    let server = context.known.node_address.url();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "default",
            "cluster": { "certificate-authority": format!("{ACCOUNT}/ca.crt"), "server": server },
        }],
        "contexts": [{
            "name": "default",
            "context": { "cluster": "default", "namespace": "default", "user": "default" },
        }],
        "current-context": "default",
        "users": [{ "name": "default", "user": { "tokenFile": format!("{ACCOUNT}/token") } }],
    })
}

/// Formatted with line breaks, because users read it.
fn json(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON has text keys")
}

fn daemon_set(context: &SystemContext, config: &Value) -> Value {
    let container = json!({
        "name": NAME,
        "image": image(context.shoot, NAME),
        "command": [
            "/usr/local/bin/kube-proxy",
            format!("--config={DIRECTORY}/config.conf"),
            "--hostname-override=$(NODE_NAME)",
        ],
        "env": [field("NODE_NAME", "spec.nodeName")],
        "readinessProbe": {
            "httpGet": { "path": "/healthz", "port": 10256 },
            "timeoutSeconds": PROBE_SECONDS,
        },
        "resources": { "requests": { "cpu": "20m", "memory": "64Mi" } },
        "securityContext": { "privileged": true },
        "volumeMounts": [
            mount_read_only("config", DIRECTORY),
            mount("xtables-lock", "/run/xtables.lock"),
            mount_read_only("lib-modules", "/lib/modules"),
        ],
    });
    let pod = json!({
        "containers": [container],
        "hostNetwork": true,
        "volumes": [
            { "name": "config", "configMap": { "name": NAME } },
            host_path("xtables-lock", "/run/xtables.lock", "FileOrCreate"),
            host_path("lib-modules", "/lib/modules", ""),
        ],
    });
    on_every_node(NAME, checksum(config), pod)
}
