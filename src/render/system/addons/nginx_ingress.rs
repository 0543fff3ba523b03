//! The add-on `nginxIngress`: the last version of a retired project.
//!
//! Without its admission webhook: it would block every Ingress while the pods are down, and had the project's worst
//! vulnerabilities.

use crate::model::NginxIngress;
use crate::render::component::Component;
use crate::render::images::image;
use crate::render::system::context::SystemContext;
use crate::render::system::objects::{
    NAMESPACE, account, checksum, cluster_role, cluster_role_binding, config_map, role,
    role_binding, rule, rule_for, service_account,
};
use crate::render::system::pods::{PROBE_SECONDS, critical, field, spread, system_nodes};
use serde_json::{Value, json};

const NAME: &str = "ingress-nginx";
const CONTROLLER: &str = "ingress-nginx-controller";
const LEASE: &str = "ingress-nginx-leader";
const CLASS: &str = "nginx";
const CONTROLLER_CLASS: &str = "k8s.io/ingress-nginx";

/// Returns None if the manifest does not enable it.
pub(crate) fn component(context: &SystemContext) -> Option<Component> {
    let addons = context.shoot.manifest.spec.addons.as_ref()?;
    let settings = addons.nginx_ingress.as_ref().filter(|it| it.enabled)?;
    let given = settings.config.clone().unwrap_or_default();
    let config = config_map(CONTROLLER, &json!(given));
    let deployment = deployment(context, &config);
    let mut objects = rights();
    objects.extend([class(), config, service(settings), deployment]);
    Some(Component {
        name: "nginx-ingress",
        title: "Deploy NGINX ingress controller".into(),
        objects,
    })
}

fn class() -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": { "name": CLASS },
        "spec": { "controller": CONTROLLER_CLASS },
    })
}

fn rights() -> Vec<Value> {
    let read = ["get", "list", "watch"];
    let networking = "networking.k8s.io";
    let coordination = "coordination.k8s.io";
    let everywhere = [
        rule(
            "",
            &[
                "configmaps",
                "endpoints",
                "namespaces",
                "nodes",
                "pods",
                "secrets",
                "services",
            ],
            &read,
        ),
        rule("", &["events"], &["create", "patch"]),
        rule(networking, &["ingresses", "ingressclasses"], &read),
        rule(networking, &["ingresses/status"], &["update"]),
        rule("discovery.k8s.io", &["endpointslices"], &read),
        rule(coordination, &["leases"], &["list", "watch"]),
    ];
    let own = [
        rule_for(
            &[LEASE],
            rule(coordination, &["leases"], &["get", "update"]),
        ),
        rule(coordination, &["leases"], &["create"]),
    ];
    let this = [account(NAME)];
    vec![
        service_account(NAME),
        cluster_role(NAME, &everywhere),
        cluster_role_binding(NAME, NAME, &this),
        role(NAMESPACE, NAME, &own),
        role_binding(NAMESPACE, NAME, NAME, &this),
    ]
}

fn service(settings: &NginxIngress) -> Value {
    let policy = settings.external_traffic_policy.as_deref();
    let port = |name: &str, port: u16| json!({ "name": name, "port": port, "protocol": "TCP", "targetPort": name });
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": CONTROLLER, "namespace": NAMESPACE, "labels": { "k8s-app": NAME } },
        "spec": {
            "type": "LoadBalancer",
            "externalTrafficPolicy": policy.unwrap_or("Cluster"),
            "selector": { "k8s-app": NAME },
            "ports": [port("http", 80), port("https", 443)],
        },
    });
    let ranges = &settings.load_balancer_source_ranges;
    if !ranges.is_empty() {
        service["spec"]["loadBalancerSourceRanges"] = json!(ranges);
    }
    service
}

fn deployment(context: &SystemContext, config: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": CONTROLLER, "namespace": NAMESPACE, "labels": { "k8s-app": NAME } },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "k8s-app": NAME } },
            "template": {
                "metadata": { "labels": { "k8s-app": NAME }, "annotations": checksum(config) },
                "spec": {
                    "containers": [container(context)],
                    "nodeSelector": system_nodes(),
                    "securityContext": { "seccompProfile": { "type": "RuntimeDefault" } },
                    "serviceAccountName": NAME,
                    // Open connections may finish.
                    "terminationGracePeriodSeconds": 300,
                    "tolerations": critical(),
                    "topologySpreadConstraints": spread(NAME),
                },
            },
        },
    })
}

fn container(context: &SystemContext) -> Value {
    let probe = |failures: u8| {
        json!({
            "httpGet": { "path": "/healthz", "port": 10254 },
            "initialDelaySeconds": 10,
            "timeoutSeconds": PROBE_SECONDS,
            "failureThreshold": failures,
        })
    };
    let port =
        |name: &str, port: u16| json!({ "name": name, "containerPort": port, "protocol": "TCP" });
    json!({
        "name": "controller",
        "image": image(context.shoot, "nginx-ingress"),
        "args": [
            "/nginx-ingress-controller",
            format!("--publish-service=$(POD_NAMESPACE)/{CONTROLLER}"),
            format!("--election-id={LEASE}"),
            format!("--controller-class={CONTROLLER_CLASS}"),
            format!("--ingress-class={CLASS}"),
            format!("--configmap=$(POD_NAMESPACE)/{CONTROLLER}"),
        ],
        "env": [field("POD_NAME", "metadata.name"), field("POD_NAMESPACE", "metadata.namespace")],
        "lifecycle": { "preStop": { "exec": { "command": ["/wait-shutdown"] } } },
        "livenessProbe": probe(5),
        "readinessProbe": probe(3),
        "ports": [port("http", 80), port("https", 443)],
        "resources": { "requests": { "cpu": "100m", "memory": "90Mi" } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "add": ["NET_BIND_SERVICE"], "drop": ["ALL"] },
            "runAsNonRoot": true,
            "runAsUser": 101,
            "runAsGroup": 82,
        },
    })
}
