//! The add-on `kubernetesDashboard`: its last version in this form, as Gardener has it.

use crate::render::component::Component;
use crate::render::images::image;
use crate::render::system::context::Context;
use crate::render::system::objects::{
    NAMESPACE, account, cluster_role, cluster_role_binding, role, role_binding, rule, rule_for,
    service_account,
};
use crate::render::system::pods::{confined, critical, mount, system_nodes};
use serde_json::{Value, json};

const NAME: &str = "kubernetes-dashboard";
const SCRAPER: &str = "dashboard-metrics-scraper";
const SETTINGS: &str = "kubernetes-dashboard-settings";
const CERTIFICATES: &str = "kubernetes-dashboard-certs";
const CSRF: &str = "kubernetes-dashboard-csrf";
const KEYS: &str = "kubernetes-dashboard-key-holder";

/// None where the manifest does not ask for it.
pub(crate) fn component(context: &Context) -> Option<Component> {
    let addons = context.shoot.manifest.spec.addons.as_ref()?;
    addons
        .kubernetes_dashboard
        .as_ref()
        .filter(|it| it.enabled)?;
    let mut objects = rights();
    // The dashboard fills them.
    objects.extend([CERTIFICATES, CSRF, KEYS].map(|it| own("Secret", it)));
    objects.extend([
        own("ConfigMap", SETTINGS),
        service(NAME, 443, 8443),
        service(SCRAPER, 8000, 8000),
        deployment(NAME, &dashboard(context)),
        deployment(SCRAPER, &scraper(context)),
    ]);
    Some(Component {
        name: "dashboard",
        title: "Run the dashboard".into(),
        objects,
    })
}

fn rights() -> Vec<Value> {
    let proxied = [SCRAPER, "http:dashboard-metrics-scraper"];
    let own = [
        rule_for(
            &[KEYS, CERTIFICATES, CSRF],
            rule("", &["secrets"], &["get", "update", "delete"]),
        ),
        rule_for(&[SETTINGS], rule("", &["configmaps"], &["get", "update"])),
        rule_for(&[SCRAPER], rule("", &["services"], &["proxy"])),
        rule_for(&proxied, rule("", &["services/proxy"], &["get"])),
    ];
    let metrics = [rule(
        "metrics.k8s.io",
        &["pods", "nodes"],
        &["get", "list", "watch"],
    )];
    let this = [account(NAME)];
    vec![
        service_account(NAME),
        role(NAMESPACE, NAME, &own),
        role_binding(NAMESPACE, NAME, NAME, &this),
        cluster_role(NAME, &metrics),
        cluster_role_binding(NAME, NAME, &this),
    ]
}

fn own(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": kind,
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "k8s-app": NAME } },
    })
}

fn service(name: &str, port: u16, target: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "k8s-app": name } },
        "spec": {
            "selector": { "k8s-app": name },
            "ports": [{ "port": port, "protocol": "TCP", "targetPort": target }],
        },
    })
}

fn deployment(name: &str, container: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "k8s-app": name } },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "k8s-app": name } },
            "template": {
                "metadata": { "labels": { "k8s-app": name } },
                "spec": {
                    "containers": [container],
                    "nodeSelector": system_nodes(),
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 1001,
                        "runAsGroup": 2001,
                        "fsGroup": 2001,
                        "seccompProfile": { "type": "RuntimeDefault" },
                    },
                    "serviceAccountName": NAME,
                    "tolerations": critical(),
                    "volumes": [
                        { "name": "certificates", "secret": { "secretName": CERTIFICATES } },
                        { "name": "tmp", "emptyDir": {} },
                    ],
                },
            },
        },
    })
}

fn dashboard(context: &Context) -> Value {
    json!({
        "name": NAME,
        "image": image(context.shoot, "dashboard"),
        "args": [
            "--auto-generate-certificates",
            "--authentication-mode=token",
            format!("--namespace={NAMESPACE}"),
        ],
        "livenessProbe": probe(8443, "HTTPS"),
        "ports": [{ "containerPort": 8443, "protocol": "TCP" }],
        "resources": { "requests": { "cpu": "50m", "memory": "64Mi" } },
        "securityContext": confined(),
        "volumeMounts": [mount("certificates", "/certs"), mount("tmp", "/tmp")],
    })
}

fn scraper(context: &Context) -> Value {
    json!({
        "name": SCRAPER,
        "image": image(context.shoot, SCRAPER),
        "livenessProbe": probe(8000, "HTTP"),
        "ports": [{ "containerPort": 8000, "protocol": "TCP" }],
        "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
        "securityContext": confined(),
        "volumeMounts": [mount("tmp", "/tmp")],
    })
}

fn probe(port: u16, scheme: &str) -> Value {
    json!({
        "httpGet": { "path": "/", "port": port, "scheme": scheme },
        "initialDelaySeconds": 30,
        "timeoutSeconds": 30,
    })
}
