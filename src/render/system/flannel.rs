//! flannel: the default pod network.

use super::context::{SystemContext, TUNNEL_PORT};
use super::objects::{
    NAMESPACE, account, checksum, cluster_role, cluster_role_binding, config_map, rule,
    service_account,
};
use super::pods::{api_server, every_node, field, host_path, mount};
use crate::render::component::Component;
use crate::render::images::image;
use serde_json::{Value, json};

const NAME: &str = "flannel";
const APP: &str = "kube-flannel";
/// Time until rules that another program removed are restored.
const RESYNC_SECONDS: u8 = 60;
const CONFIG: &str = "kube-flannel-cfg";

/// Returns None if another network is configured.
pub(crate) fn component(context: &SystemContext) -> Option<Component> {
    if context.shoot.networking.type_ != NAME {
        return None;
    }
    let config = config_map(
        CONFIG,
        &json!({
            "cni-conf.json": json(&cni_configuration()),
            "net-conf.json": json(&network_configuration(context)),
        }),
    );
    let rules = [
        rule("", &["pods"], &["get"]),
        rule("", &["nodes"], &["get", "list", "watch"]),
        rule("", &["nodes/status"], &["patch"]),
    ];
    let daemon_set = daemon_set(context, &config);
    Some(Component {
        name: NAME,
        title: "Deploy pod network flannel".into(),
        objects: vec![
            service_account(NAME),
            cluster_role(NAME, &rules),
            cluster_role_binding(NAME, NAME, &[account(NAME)]),
            config,
            daemon_set,
        ],
    })
}

/// Each node uses the range that the controller manager assigns to it.
fn network_configuration(context: &SystemContext) -> Value {
    json!({
        "Network": context.shoot.networking.pods,
        "Backend": { "Type": "vxlan", "Port": TUNNEL_PORT },
    })
}

fn cni_configuration() -> Value {
    json!({
        "name": "cbr0",
        "cniVersion": "0.3.1",
        "plugins": [
            { "type": "flannel", "delegate": { "hairpinMode": true, "isDefaultGateway": true } },
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    })
}

fn json(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON has text keys")
}

fn daemon_set(context: &SystemContext, config: &Value) -> Value {
    let labels = json!({ "app": "flannel", "k8s-app": APP, "tier": "node" });
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": "kube-flannel-ds", "namespace": NAMESPACE, "labels": labels },
        "spec": {
            "selector": { "matchLabels": { "k8s-app": APP } },
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "10%" } },
            "template": {
                "metadata": { "labels": labels, "annotations": checksum(config) },
                "spec": {
                    "initContainers": [install_plugin(context), install_configuration(context)],
                    "containers": [daemon(context)],
                    "hostNetwork": true,
                    "nodeSelector": { "kubernetes.io/os": "linux" },
                    "priorityClassName": "system-node-critical",
                    "serviceAccountName": NAME,
                    "tolerations": every_node(),
                    "volumes": [
                        host_path("run", "/run/flannel", "DirectoryOrCreate"),
                        host_path("cni-plugin", "/opt/cni/bin", "DirectoryOrCreate"),
                        host_path("cni", "/etc/cni/net.d", "DirectoryOrCreate"),
                        host_path("xtables-lock", "/run/xtables.lock", "FileOrCreate"),
                        { "name": "config", "configMap": { "name": CONFIG } },
                    ],
                },
            },
        },
    })
}

fn install_plugin(context: &SystemContext) -> Value {
    json!({
        "name": "install-cni-plugin",
        "image": image(context.shoot, "flannel-cni-plugin"),
        "command": ["cp", "-f", "/flannel", "/opt/cni/bin/flannel"],
        "volumeMounts": [mount("cni-plugin", "/opt/cni/bin")],
    })
}

fn install_configuration(context: &SystemContext) -> Value {
    json!({
        "name": "install-cni",
        "image": image(context.shoot, NAME),
        "command": ["cp", "-f", "/etc/kube-flannel/cni-conf.json", "/etc/cni/net.d/10-flannel.conflist"],
        "volumeMounts": [mount("cni", "/etc/cni/net.d"), mount("config", "/etc/kube-flannel")],
    })
}

fn daemon(context: &SystemContext) -> Value {
    let [host, port] = api_server(context);
    json!({
        "name": APP,
        "image": image(context.shoot, NAME),
        "command": [
            "/opt/bin/flanneld",
            "--ip-masq",
            "--kube-subnet-mgr",
            // Each look runs iptables several times, and by default there is one every five seconds.
            format!("--iptables-resync={RESYNC_SECONDS}"),
        ],
        "env": [
            field("POD_NAME", "metadata.name"),
            field("POD_NAMESPACE", "metadata.namespace"),
            { "name": "EVENT_QUEUE_DEPTH", "value": "5000" },
            host,
            port,
        ],
        "resources": { "requests": { "cpu": "50m", "memory": "50Mi" } },
        "securityContext": { "privileged": false, "capabilities": { "add": ["NET_ADMIN", "NET_RAW"] } },
        "volumeMounts": [
            mount("run", "/run/flannel"),
            mount("config", "/etc/kube-flannel"),
            mount("xtables-lock", "/run/xtables.lock"),
        ],
    })
}
