//! metrics-server: resource usage of nodes and pods.

use super::context::SystemContext;
use super::objects::{
    NAMESPACE, account, cluster_role, cluster_role_binding, role_binding, rule, service_account,
};
use super::pods::{
    PROBE_SECONDS, confined, critical, mount, mount_read_only, one_by_one, spread, system_nodes,
};
use crate::render::component::Component;
use crate::render::control_plane::certificate;
use crate::render::control_plane::certificate::subjects::CA;
use crate::render::control_plane::parts::flags::{CIPHER_SUITES, MIN_TLS_VERSION};
use crate::render::images::image;
use crate::render::machine::kubelet::CLUSTER_DOMAIN;
use crate::state::action::{Desired, KeyMaterial, LeafCertificate};
use crate::state::names;
use crate::state::record::rotation::KeyGeneration;
use crate::state::site::Site;
use crate::validate::control_plane::Tolerance;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(crate) const NAME: &str = "metrics-server";
const ROLE: &str = "system:metrics-server";
const PORT: u16 = 10250;
/// The CA of the shoot, which signs the serving certificates of kubelets.
const CA_DIRECTORY: &str = "/etc/kubernetes/pki";
/// Secret with its serving certificate.
const CERTIFICATE: &str = "metrics-server-certificate";
const CERTIFICATE_DIRECTORY: &str = "/etc/metrics-server/certificate";

pub(crate) fn component(context: &SystemContext) -> Component {
    let mut objects = rights();
    objects.extend([service(), deployment(context)]);
    // Last, so that the aggregation layer does not ask before the server exists.
    objects.push(api_service(context));
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

/// Its serving certificate, from the CA of the shoot. Requests reach it through the konnectivity agents of all nodes, so
/// the API server verifies it.
pub(crate) fn certificate(site: &Site, trust: KeyGeneration) -> Desired {
    let name = format!("{NAME}.{NAMESPACE}.svc");
    let leaf = LeafCertificate {
        root: names::control_plane(site.id, CA).into(),
        common_name: NAME.to_owned(),
        organization: None,
        names: vec![format!("{name}.{CLUSTER_DOMAIN}"), name],
        server: true,
        client: false,
        kubeconfig: None,
        trust,
        is_of_previous: false,
    };
    certificate::in_shoot(site, NAMESPACE, CERTIFICATE, KeyMaterial::Leaf(leaf))
}

fn api_service(context: &SystemContext) -> Value {
    let ca = STANDARD.encode(context.known.ca.as_bytes());
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": { "name": "v1beta1.metrics.k8s.io" },
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": ca,
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
                    "volumes": [
                        { "name": "tmp", "emptyDir": {} },
                        { "name": "ca", "configMap": { "name": "kube-root-ca.crt" } },
                        { "name": "certificate", "secret": { "secretName": CERTIFICATE } },
                    ],
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
            format!("--tls-cert-file={CERTIFICATE_DIRECTORY}/tls.crt"),
            format!("--tls-private-key-file={CERTIFICATE_DIRECTORY}/tls.key"),
            format!("--tls-min-version={MIN_TLS_VERSION}"),
            format!("--tls-cipher-suites={}", CIPHER_SUITES.join(",")),
            format!("--secure-port={PORT}"),
            format!("--kubelet-certificate-authority={CA_DIRECTORY}/ca.crt"),
            "--kubelet-preferred-address-types=InternalIP",
            "--kubelet-use-node-status-port",
            "--metric-resolution=15s",
        ],
        // Its Secret is written at the same time, and kubelets retry a missing one after a minute.
        "startupProbe": probe("/livez", 5, 60),
        "livenessProbe": probe("/livez", 10, 6),
        "readinessProbe": probe("/readyz", 10, 3),
        "ports": [{ "name": "https", "containerPort": PORT, "protocol": "TCP" }],
        "resources": { "requests": { "cpu": "50m", "memory": "100Mi" } },
        "securityContext": confined(),
        "volumeMounts": [mount("tmp", "/tmp"), mount_read_only("ca", CA_DIRECTORY), mount_read_only("certificate", CERTIFICATE_DIRECTORY)],
    })
}
