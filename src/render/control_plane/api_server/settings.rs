//! The Shoot's settings for the API server, as flags.

use crate::model::{KubeApiServer, Kubernetes, WatchCacheSizes};
use crate::render::control_plane::parts::flags::Flags;
use crate::render::machine::kubelet::CLUSTER_DOMAIN;
use serde_json::{Value, json};

/// Without this plugin a node may write objects of other nodes.
const ALWAYS: &str = "NodeRestriction";
const POD_SECURITY: &str = "PodSecurity";

/// `file` returns the path of a file of the ConfigMap.
pub(crate) fn flags(
    flags: Flags,
    kubernetes: &Kubernetes,
    settings: &KubeApiServer,
    file: impl Fn(&str) -> String,
) -> Flags {
    let requests = settings.requests.as_ref();
    let reads = requests.and_then(|it| it.max_non_mutating_inflight);
    let writes = requests.and_then(|it| it.max_mutating_inflight);
    let logging = settings.logging.as_ref();
    let access = logging.and_then(|it| it.http_access_verbosity);
    let event_ttl = settings.event_ttl.as_ref();
    let sizes = settings.watch_cache_sizes.as_ref().map(sizes);
    let patience = patience(kubernetes);
    accounts(flags, settings)
        .list("enable-admission-plugins", &enabled(settings))
        .list("disable-admission-plugins", &disabled(settings))
        .given(
            "admission-control-config-file",
            admission(settings).map(|_| file("admission.yaml")),
        )
        .set(
            "event-ttl",
            event_ttl.map_or("1h".into(), ToString::to_string),
        )
        .given(
            "default-not-ready-toleration-seconds",
            settings.default_not_ready_toleration_seconds.or(patience),
        )
        .given(
            "default-unreachable-toleration-seconds",
            settings.default_unreachable_toleration_seconds.or(patience),
        )
        .given("max-requests-inflight", reads)
        .given("max-mutating-requests-inflight", writes)
        .list("watch-cache-sizes", &sizes.unwrap_or_default())
        .pairs("runtime-config", settings.runtime_config.as_ref())
        .pairs("feature-gates", settings.feature_gates.as_ref())
        .given("v", logging.and_then(|it| it.verbosity))
        .given("vmodule", access.map(|it| format!("httplog={it}")))
}

/// Issuers and tokens of service accounts.
fn accounts(flags: Flags, settings: &KubeApiServer) -> Flags {
    let config = settings.service_account_config.as_ref();
    let issuer = config.and_then(|it| it.issuer.clone());
    let issuer =
        issuer.unwrap_or_else(|| format!("https://kubernetes.default.svc.{CLUSTER_DOMAIN}"));
    let accepted = config.map(|it| it.accepted_issuers.as_slice());
    let others = accepted
        .unwrap_or_default()
        .iter()
        .filter(|it| **it != issuer);
    let flags = flags.set("service-account-issuer", &issuer);
    let flags = others.fold(flags, |flags, it| flags.set("service-account-issuer", it));
    flags
        .list("api-audiences", &settings.api_audiences)
        .given(
            "service-account-extend-token-expiration",
            config.and_then(|it| it.extend_token_expiration),
        )
        .given(
            "service-account-max-token-expiration",
            config.and_then(|it| it.max_token_expiration.as_ref()),
        )
}

fn enabled(settings: &KubeApiServer) -> Vec<String> {
    let plugins = settings.admission_plugins.iter();
    let given = plugins.filter(|it| it.disabled != Some(true) && it.name != ALWAYS);
    let given = given.map(|it| it.name.clone());
    [ALWAYS.to_owned()].into_iter().chain(given).collect()
}

fn disabled(settings: &KubeApiServer) -> Vec<String> {
    let plugins = settings.admission_plugins.iter();
    let disabled = plugins.filter(|it| it.disabled == Some(true));
    disabled.map(|it| it.name.clone()).collect()
}

/// The configurations of admission plugins: those of the Shoot, and the defaults of Pod Security.
pub(crate) fn admission(settings: &KubeApiServer) -> Option<Value> {
    let plugins = &settings.admission_plugins;
    let given = plugins.iter();
    let mut configured: Vec<Value> = given
        .filter_map(|it| Some(json!({ "name": it.name, "configuration": it.config.as_ref()? })))
        .collect();
    let is_given = plugins
        .iter()
        .any(|it| it.name == POD_SECURITY && (it.disabled == Some(true) || it.config.is_some()));
    if !is_given {
        configured.push(json!({ "name": POD_SECURITY, "configuration": pod_security() }));
    }
    (!configured.is_empty()).then(|| {
        json!({
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AdmissionConfiguration",
            "plugins": configured,
        })
    })
}

/// Namespaces without labels of Pod Security accept all pods, as in Kubernetes; those that do not meet the baseline are
/// in the audit log, and their creators get a warning.
fn pod_security() -> Value {
    json!({
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": {
            "enforce": "privileged",
            "enforce-version": "latest",
            "audit": "baseline",
            "audit-version": "latest",
            "warn": "baseline",
            "warn-version": "latest",
        },
        // Components of the cluster set up the nodes.
        "exemptions": { "namespaces": ["kube-system"] },
    })
}

/// `resource.group#size`, the format of the flag.
fn sizes(sizes: &WatchCacheSizes) -> Vec<String> {
    let of = sizes.resources.iter().map(|resource| {
        let group = resource.api_group.as_deref().filter(|it| !it.is_empty());
        let group = group.map_or_else(String::new, |it| format!(".{it}"));
        format!("{}{group}#{}", resource.resource, resource.size)
    });
    of.collect()
}

/// The eviction timeout is no longer a flag of the controller manager: pods are evicted when they no longer tolerate
/// the taints of their node.
fn patience(kubernetes: &Kubernetes) -> Option<i64> {
    let manager = kubernetes.kube_controller_manager.as_ref()?;
    let timeout = manager.pod_eviction_timeout.as_ref()?;
    i64::try_from(timeout.value.as_secs()).ok()
}
