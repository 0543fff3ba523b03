//! Values with which kube-apiserver would not start: a rolling update would stop at the first pod.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use crate::model::{AdmissionPlugin, FindingKind, KubeApiServer, ServiceAccountConfig};
use crate::validate::names::is_dns_subdomain;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::is_pem_certificates;

const HOUR: Duration = Duration::from_secs(3600);
/// The longest time that Gardener keeps events.
const MAX_EVENT_TTL: Duration = Duration::from_secs(7 * 24 * 3600);

pub(super) fn check(settings: &KubeApiServer, at: &FieldCursor, report: &mut FindingSink) {
    plugins(
        &settings.admission_plugins,
        &at.key("admissionPlugins"),
        report,
    );
    config_maps(settings, at, report);
    let ttl = settings.event_ttl.as_ref();
    if let Some(ttl) = ttl.filter(|it| it.value > MAX_EVENT_TTL) {
        let message = format!("must be at most 168h (is {ttl})");
        let at = &at.key("eventTTL");
        report.error(at, FindingKind::Invalid, "kubernetes/event-ttl", message);
    }
    let oidc = settings.oidc_config.as_ref();
    let bundle = oidc.and_then(|it| it.ca_bundle.as_deref());
    if bundle.is_some_and(|it| !is_pem_certificates(it)) {
        let at = &at.key("oidcConfig");
        let at = &at.key("caBundle");
        let message = "not a valid PEM certificate";
        report.error(at, FindingKind::Invalid, "kubernetes/oidc", message);
    }
    let requests = settings.requests.as_ref();
    let both = requests.and_then(|it| {
        let sum = [it.max_mutating_inflight, it.max_non_mutating_inflight];
        Some(sum[0]? == 0 && sum[1]? == 0)
    });
    if both == Some(true) {
        let message = "both limits are 0: the API server would serve nothing";
        let at = &at.key("requests");
        report.error(at, FindingKind::Invalid, "kubernetes/requests", message);
    }
    if let Some(it) = &settings.service_account_config {
        accounts(it, &at.key("serviceAccountConfig"), report);
    }
}

/// Checks the names of ConfigMaps, which are read in the provider cluster.
fn config_maps(settings: &KubeApiServer, at: &FieldCursor, report: &mut FindingSink) {
    let mut check = |name: &str, at: &FieldCursor| {
        if !name.is_empty() && !is_dns_subdomain(name) {
            let message = format!("{name:?} is not a valid name of a ConfigMap");
            report.error(at, FindingKind::Invalid, "kubernetes/config-map", message);
        }
    };
    let policy = settings.audit_config.as_ref();
    let policy = policy.and_then(|it| it.audit_policy.as_ref()?.config_map_ref.as_ref());
    if let Some(it) = policy {
        let at = &at.key("auditConfig");
        let at = &at.key("auditPolicy");
        check(&it.name, &at.key("configMapRef").key("name"));
    }
    if let Some(it) = &settings.structured_authentication {
        let at = &at.key("structuredAuthentication");
        check(&it.config_map_name, &at.key("configMapName"));
    }
}

fn accounts(settings: &ServiceAccountConfig, at: &FieldCursor, report: &mut FindingSink) {
    let most = settings.max_token_expiration.as_ref();
    if let Some(most) = most.filter(|it| it.value < HOUR) {
        let at = &at.key("maxTokenExpiration");
        let message = format!("must be at least 1h (is {most})");
        report.error(at, FindingKind::Invalid, "kubernetes/token", message);
    }
    let mut issuer = |name: &str, at: &FieldCursor| {
        // kube-apiserver reads everything with a colon as a URL.
        let is_url = name.split_once("://").is_some_and(|(scheme, host)| {
            !scheme.is_empty() && !host.is_empty() && !host.starts_with('/')
        });
        let is_valid = match name.contains(':') {
            true => is_url,
            false => !name.is_empty(),
        };
        if !is_valid || name.contains(|it: char| it.is_whitespace() || it.is_control()) {
            let message = format!("{name:?} is not a valid issuer");
            report
                .error(at, FindingKind::Invalid, "kubernetes/issuer", message)
                .hint("for example https://issuer.example.org");
        }
    };
    if let Some(it) = &settings.issuer {
        issuer(it, &at.key("issuer"));
    }
    for (index, it) in settings.accepted_issuers.iter().enumerate() {
        let at = &at.key("acceptedIssuers");
        issuer(it, &at.index(index));
    }
}

fn plugins(plugins: &[AdmissionPlugin], at: &FieldCursor, report: &mut FindingSink) {
    let mut known = HashMap::new();
    for (index, plugin) in plugins.iter().enumerate() {
        let at_one = &at.index(index);
        let name = plugin.name.as_str();
        if let Some(first) = known.insert(name, index).filter(|_| !name.is_empty()) {
            let (code, message) = (
                "kubernetes/plugin-twice",
                format!("duplicate admission plugin {name:?}"),
            );
            report
                .error(&at_one.key("name"), FindingKind::Duplicate, code, message)
                .see(&at.index(first).key("name"), "first defined here");
        }
        if let Some(config) = &plugin.config {
            configuration(name, config, &at_one.key("config"), report);
        }
    }
}

/// Plugins with a configuration of their own, its API versions, newest first, and its kinds. From `pkg/apis` of the
/// plugins in Kubernetes 1.31 to 1.37.
const CONFIGURATIONS: [(&str, &[&str], &[&str]); 4] = [
    (
        "PodSecurity",
        &[
            "pod-security.admission.config.k8s.io/v1",
            "pod-security.admission.config.k8s.io/v1beta1",
            "pod-security.admission.config.k8s.io/v1alpha1",
        ],
        &["PodSecurityConfiguration"],
    ),
    (
        "EventRateLimit",
        &["eventratelimit.admission.k8s.io/v1alpha1"],
        &["Configuration"],
    ),
    (
        "PodTolerationRestriction",
        &["podtolerationrestriction.admission.k8s.io/v1alpha1"],
        &["Configuration"],
    ),
    (
        "ResourceQuota",
        &[
            "apiserver.config.k8s.io/v1",
            "resourcequota.admission.k8s.io/v1beta1",
            "resourcequota.admission.k8s.io/v1alpha1",
        ],
        &["ResourceQuotaConfiguration", "Configuration"],
    ),
];

fn configuration(name: &str, config: &Value, at: &FieldCursor, report: &mut FindingSink) {
    const CODE: &str = "kubernetes/plugin-config";
    let Some((_, versions, kinds)) = CONFIGURATIONS.iter().find(|it| it.0 == name) else {
        return;
    };
    for (field, supported) in [("apiVersion", versions), ("kind", kinds)] {
        match config[field].as_str() {
            Some(given) if supported.contains(&given) => {}
            Some(given) => {
                let message = format!("unsupported value {given:?}");
                report
                    .error(&at.key(field), FindingKind::NotSupported, CODE, message)
                    .hint(format!("supported values: {}", supported.join(", ")));
            }
            None => {
                report
                    .error(&at.key(field), FindingKind::Required, CODE, "is required")
                    .hint(format!("write {field}: {}", supported[0]));
            }
        }
    }
    if name != "PodSecurity" {
        return;
    }
    const LEVELS: [&str; 3] = ["privileged", "baseline", "restricted"];
    for mode in ["enforce", "audit", "warn"] {
        let level = &config["defaults"][mode];
        if !level.is_null() && !level.as_str().is_some_and(|it| LEVELS.contains(&it)) {
            let message = format!("unsupported value {level}");
            let at = &at.key("defaults");
            report
                .error(&at.key(mode), FindingKind::NotSupported, CODE, message)
                .hint(format!("supported values: {}", LEVELS.join(", ")));
        }
    }
}
