//! metrics-server: resource usage of nodes and pods.

use super::context::SystemContext;
use super::objects::{
    NAMESPACE, account, cluster_role, cluster_role_binding, role_binding, rule, service_account,
};
use super::pods::{PROBE_SECONDS, confined, critical, mount, one_by_one, spread, system_nodes};
use crate::render::component::Component;
use crate::render::images::image;
use crate::validate::control_plane::Tolerance;
use serde_json::{Value, json};

const NAME: &str = "metrics-server";
const ROLE: &str = "system:metrics-server";
const PORT: u16 = 10250;

pub(crate) fn component(context: &SystemContext) -> Component {
    let mut objects = rights();
    objects.extend([service(), deployment(context)]);
    // Last, so that the aggregation layer does not ask before the server exists.
    objects.push(api_service());
    let is_spread = replicas(context) > 1;
    objects.extend(is_spread.then(|| one_by_one(NAME, NAME)));
    Component {
        name: NAME,
        title: "Deploy metrics-server".into(),
        objects,
    }
}

fn replicas(context: &SystemContext) -> u8 {
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

/// The server generates its certificate in every pod; requests reach it through the konnectivity agents.
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

fn deployment(context: &SystemContext) -> Value {
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

fn container(context: &SystemContext) -> Value {
    let probe = |path: &str, period: u8, failures: u8| {
        json!({
            "httpGet": { "path": path, "port": PORT, "scheme": "HTTPS" },
            "periodSeconds": period,
            "timeoutSeconds": PROBE_SECONDS,
            "failureThreshold": failures,
        })
    };
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
        // It generates a key before it serves, which takes a minute on a slow machine.
        "startupProbe": probe("/livez", 5, 60),
        "livenessProbe": probe("/livez", 10, 6),
        "readinessProbe": probe("/readyz", 10, 3),
        "ports": [{ "name": "https", "containerPort": PORT, "protocol": "TCP" }],
        "resources": { "requests": { "cpu": "50m", "memory": "100Mi" } },
        "securityContext": confined(),
        "volumeMounts": [mount("tmp", "/tmp")],
    })
}
