//! CoreDNS: the cluster's DNS.

use super::context::SystemContext;
use super::objects::{
    NAMESPACE, account, checksum, cluster_role, cluster_role_binding, config_map, rule,
    service_account,
};
use super::pods::{PROBE_SECONDS, critical, mount_read_only, one_by_one, spread, system_nodes};
use crate::render::component::Component;
use crate::render::images::image;
use crate::render::machine::kubelet::{CLUSTER_DOMAIN, DNS_ADDRESS};
use crate::render::networking::address;
use serde_json::{Value, json};

const NAME: &str = "coredns";
/// The name that clients and dashboards expect, whichever server is used.
const APP: &str = "kube-dns";
/// A ConfigMap of the user: `*.override` extends the default server, `*.server` adds servers.
const CUSTOM: &str = "coredns-custom";
/// Files next to those of the user, because CoreDNS warns about a glob without files each time it reads the Corefile.
const OVERRIDE: &str = "none.override";
const SERVER: &str = "none.server";
const PLACEHOLDER: &str = "# see ConfigMap coredns-custom\n";

pub(crate) fn component(context: &SystemContext) -> Component {
    let config = config_map(
        NAME,
        &json!({ "Corefile": corefile(), OVERRIDE: PLACEHOLDER, SERVER: PLACEHOLDER }),
    );
    let rules = [
        rule(
            "",
            &["endpoints", "services", "pods", "namespaces"],
            &["list", "watch"],
        ),
        rule("discovery.k8s.io", &["endpointslices"], &["list", "watch"]),
    ];
    let deployment = deployment(context, &config);
    Component {
        name: "core-dns",
        title: "Deploy CoreDNS".into(),
        objects: vec![
            service_account(NAME),
            cluster_role("system:coredns", &rules),
            cluster_role_binding("system:coredns", "system:coredns", &[account(NAME)]),
            config,
            service(context),
            one_by_one(NAME, APP),
            deployment,
        ],
    }
}

fn corefile() -> String {
    format!(
        ".:53 {{
    errors
    health {{
        lameduck 5s
    }}
    ready
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }}
    prometheus :9153
    forward . /etc/resolv.conf {{
        max_concurrent 1000
    }}
    cache 30
    loop
    reload
    loadbalance
    import custom/*.override
}}
import custom/*.server
"
    )
}

fn service(context: &SystemContext) -> Value {
    let services = &context.shoot.networking.services;
    let port = |name: &str, port: u16, protocol: &str| json!({ "name": name, "port": port, "protocol": protocol, "targetPort": port });
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": APP,
            "namespace": NAMESPACE,
            "labels": {
                "k8s-app": APP,
                "kubernetes.io/cluster-service": "true",
                "kubernetes.io/name": "CoreDNS",
            },
            "annotations": { "prometheus.io/port": "9153", "prometheus.io/scrape": "true" },
        },
        "spec": {
            "clusterIP": address(services, DNS_ADDRESS),
            "selector": { "k8s-app": APP },
            "ports": [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")],
        },
    })
}

fn deployment(context: &SystemContext, config: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": NAME, "namespace": NAMESPACE, "labels": { "k8s-app": APP } },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "k8s-app": APP } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1 } },
            "template": {
                "metadata": { "labels": { "k8s-app": APP }, "annotations": checksum(config) },
                "spec": {
                    "containers": [container(context)],
                    // The node's own servers answer for names outside the cluster.
                    "dnsPolicy": "Default",
                    "nodeSelector": system_nodes(),
                    "priorityClassName": "system-cluster-critical",
                    "securityContext": { "seccompProfile": { "type": "RuntimeDefault" } },
                    "serviceAccountName": NAME,
                    "tolerations": critical(),
                    "topologySpreadConstraints": spread(APP),
                    "volumes": [
                        {
                            "name": "config",
                            "configMap": { "name": NAME, "items": items(&["Corefile"]) },
                        },
                        { "name": "custom", "projected": { "sources": custom() } },
                    ],
                },
            },
        },
    })
}

/// The files of the user, if there are any, and a file for each glob.
fn custom() -> Value {
    json!([
        { "configMap": { "name": NAME, "items": items(&[OVERRIDE, SERVER]) } },
        { "configMap": { "name": CUSTOM, "optional": true } },
    ])
}

fn items(keys: &[&str]) -> Value {
    keys.iter()
        .map(|it| json!({ "key": it, "path": it }))
        .collect()
}

fn container(context: &SystemContext) -> Value {
    let port = |name: &str, port: u16, protocol: &str| json!({ "name": name, "containerPort": port, "protocol": protocol });
    json!({
        "name": NAME,
        "image": image(context.shoot, NAME),
        "args": ["-conf", "/etc/coredns/Corefile"],
        "livenessProbe": {
            "httpGet": { "path": "/health", "port": 8080 },
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "failureThreshold": 5,
        },
        "readinessProbe": {
            "httpGet": { "path": "/ready", "port": 8181 },
            "timeoutSeconds": PROBE_SECONDS,
        },
        "ports": [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")],
        "resources": { "limits": { "memory": "170Mi" }, "requests": { "cpu": "100m", "memory": "70Mi" } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "add": ["NET_BIND_SERVICE"], "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": [
            mount_read_only("config", "/etc/coredns"),
            mount_read_only("custom", "/etc/coredns/custom"),
        ],
    })
}
