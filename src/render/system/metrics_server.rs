//! metrics-server: what nodes and pods use.

use super::context::Context;
use super::objects::{
    NAMESPACE, account, cluster_role, cluster_role_binding, role_binding, rule, service_account,
};
use super::pods::{confined, critical, mount, one_by_one, spread, system_nodes};
use crate::render::component::Component;
use crate::render::images::image;
use crate::validate::control_plane::Tolerance;
use serde_json::{Value, json};

const NAME: &str = "metrics-server";
const ROLE: &str = "system:metrics-server";
const PORT: u16 = 10250;

pub(crate) fn component(context: &Context) -> Component {
    let mut objects = rights();
    objects.extend([service(), deployment(context)]);
    // The aggregation layer asks only once there is an answer to be had.
    objects.push(api_service());
    let is_spread = replicas(context) > 1;
    objects.extend(is_spread.then(|| one_by_one(NAME, NAME)));
    Component {
        name: NAME,
        title: "Run metrics-server".into(),
        objects,
    }
}

fn replicas(context: &Context) -> u8 {
    match context.shoot.control_plane.tolerance {
        Tolerance::None => 1,
        Tolerance::Node | Tolerance::Zone => 2,
    }
}

fn rights() -> Vec<Value> {
    let rules = [
        rule("", &["nodes/metrics"], &["get"]),
        rule("", &["pods", "nodes"], &["get", "list", "watch"]),
    ];
    let this = [account(NAME)];
    vec![
        service_account(NAME),
        cluster_role(ROLE, &rules),
        cluster_role_binding(ROLE, ROLE, &this),
        cluster_role_binding(
            "metrics-server:system:auth-delegator",
            "system:auth-delegator",
            &this,
        ),
        role_binding(
            NAMESPACE,
            "metrics-server-auth-reader",
            "extension-apiserver-authentication-reader",
            &this,
        ),
    ]
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": { "k8s-app": NAME, "kubernetes.io/cluster-service": "true" },
        },
        "spec": {
            "selector": { "k8s-app": NAME },
            "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": PORT }],
        },
    })
}

/// Its certificate is its own, made anew with every pod; the way to it is that of the konnectivity agents.
fn api_service() -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": { "name": "v1beta1.metrics.k8s.io" },
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": true,
            "service": { "name": NAME, "namespace": NAMESPACE, "port": 443 },
        },
    })
}

fn deployment(context: &Context) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": NAME, "namespace": NAMESPACE, "labels": { "k8s-app": NAME } },
        "spec": {
            "replicas": replicas(context),
            "selector": { "matchLabels": { "k8s-app": NAME } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 0 } },
            "template": {
                "metadata": { "labels": { "k8s-app": NAME } },
                "spec": {
                    "containers": [container(context)],
                    "nodeSelector": system_nodes(),
                    "priorityClassName": "system-cluster-critical",
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 1000,
                        "seccompProfile": { "type": "RuntimeDefault" },
                    },
                    "serviceAccountName": NAME,
                    "tolerations": critical(),
                    "topologySpreadConstraints": spread(NAME),
                    "volumes": [{ "name": "tmp", "emptyDir": {} }],
                },
            },
        },
    })
}

fn container(context: &Context) -> Value {
    let probe =
        |path: &str| json!({ "httpGet": { "path": path, "port": PORT, "scheme": "HTTPS" } });
    let mut readiness = probe("/readyz");
    readiness["initialDelaySeconds"] = json!(20);
    json!({
        "name": NAME,
        "image": image(context.shoot, NAME),
        "args": [
            "--cert-dir=/tmp",
            format!("--secure-port={PORT}"),
            // Kubelets sign their serving certificates themselves.
            "--kubelet-insecure-tls",
            "--kubelet-preferred-address-types=InternalIP",
            "--kubelet-use-node-status-port",
            "--metric-resolution=15s",
        ],
        "livenessProbe": probe("/livez"),
        "readinessProbe": readiness,
        "ports": [{ "name": "https", "containerPort": PORT, "protocol": "TCP" }],
        "resources": { "requests": { "cpu": "50m", "memory": "100Mi" } },
        "securityContext": confined(),
        "volumeMounts": [mount("tmp", "/tmp")],
    })
}
