//! Configurations of admission webhooks.

use super::label_selector::PartialLabelSelector;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Seconds of a timeout up to which a webhook whose failures are ignored only delays requests.
const MAX_TIMEOUT: i64 = 15;

/// A ValidatingWebhookConfiguration or a MutatingWebhookConfiguration.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialWebhookConfiguration {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) webhooks: Vec<PartialWebhook>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PartialWebhook {
    pub(crate) name: String,
    failure_policy: String,
    timeout_seconds: i64,
    client_config: WebhookClientConfig,
    rules: Vec<WebhookRule>,
    namespace_selector: PartialLabelSelector,
    object_selector: PartialLabelSelector,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct WebhookClientConfig {
    service: Option<WebhookService>,
}

#[derive(Debug, Clone, Deserialize)]
struct WebhookService {
    namespace: String,
    name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WebhookRule {
    api_groups: Vec<String>,
    resources: Vec<String>,
}

/// Objects of a group that have to be written before a pod of the shoot runs.
struct SystemObjects {
    group: &'static str,
    resources: &'static [&'static str],
    /// In kube-system; otherwise without a namespace.
    is_namespaced: bool,
}

/// As Gardener's constraint HibernationPossible.
const SYSTEM_OBJECTS: [SystemObjects; 12] = [
    SystemObjects {
        group: "",
        resources: &[
            "pods",
            "pods/status",
            "configmaps",
            "secrets",
            "serviceaccounts",
            "services",
            "services/status",
            "endpoints",
        ],
        is_namespaced: true,
    },
    SystemObjects {
        group: "",
        resources: &["nodes", "nodes/status", "namespaces"],
        is_namespaced: false,
    },
    SystemObjects {
        group: "apps",
        resources: &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "replicasets",
        ],
        is_namespaced: true,
    },
    SystemObjects {
        group: "networking.k8s.io",
        resources: &["networkpolicies"],
        is_namespaced: true,
    },
    SystemObjects {
        group: "coordination.k8s.io",
        resources: &["leases"],
        is_namespaced: true,
    },
    SystemObjects {
        group: "rbac.authorization.k8s.io",
        resources: &["roles", "rolebindings"],
        is_namespaced: true,
    },
    SystemObjects {
        group: "rbac.authorization.k8s.io",
        resources: &["clusterroles", "clusterrolebindings"],
        is_namespaced: false,
    },
    SystemObjects {
        group: "apiextensions.k8s.io",
        resources: &["customresourcedefinitions"],
        is_namespaced: false,
    },
    SystemObjects {
        group: "apiregistration.k8s.io",
        resources: &["apiservices"],
        is_namespaced: false,
    },
    SystemObjects {
        group: "certificates.k8s.io",
        resources: &["certificatesigningrequests"],
        is_namespaced: false,
    },
    SystemObjects {
        group: "scheduling.k8s.io",
        resources: &["priorityclasses"],
        is_namespaced: false,
    },
    SystemObjects {
        group: "storage.k8s.io",
        resources: &["csinodes"],
        is_namespaced: false,
    },
];

impl PartialWebhook {
    /// Returns true if requests are rejected while it does not answer.
    pub(crate) fn fails_closed(&self) -> bool {
        self.failure_policy != "Ignore"
    }

    /// `namespace/name` of its Service; None for a URL.
    pub(crate) fn service(&self) -> Option<String> {
        let service = self.client_config.service.as_ref()?;
        Some(format!("{}/{}", service.namespace, service.name))
    }

    /// Returns true if it admits what a new node or a system component needs. `labels` are those of kube-system.
    pub(crate) fn admits_system(&self, labels: &BTreeMap<String, String>) -> bool {
        let is_selected = self.namespace_selector.selects(labels);
        let admits = |objects: &SystemObjects| {
            (is_selected || !objects.is_namespaced)
                && self.rules.iter().any(|it| it.covers(objects))
        };
        // System objects do not have the labels of applications.
        !self.object_selector.wants_labels() && SYSTEM_OBJECTS.iter().any(admits)
    }

    /// Returns true if the shoot cannot start without it: it runs in the shoot, has to admit what the system needs, and its
    /// failures count.
    pub(crate) fn blocks_waking(&self, labels: &BTreeMap<String, String>) -> bool {
        let counts = self.fails_closed() || self.timeout_seconds > MAX_TIMEOUT;
        let is_inside = self.client_config.service.is_some();
        counts && is_inside && self.admits_system(labels)
    }
}

impl WebhookRule {
    fn covers(&self, objects: &SystemObjects) -> bool {
        let has_group = |it: &String| it == "*" || it == objects.group;
        let has_resource = |rule: &String| objects.resources.iter().any(|it| matches(rule, it));
        self.api_groups.iter().any(has_group) && self.resources.iter().any(has_resource)
    }
}

/// Matches a resource, such as `pods/status`, with that of a rule: `*`, `pods/*`, `*/status` and `*/*` are patterns.
fn matches(rule: &str, resource: &str) -> bool {
    let (name, part) = resource.split_once('/').unwrap_or((resource, ""));
    match rule.split_once('/') {
        Some(("*", "*")) => true,
        Some((wanted, wanted_part)) => {
            let is_part = wanted_part == "*" || wanted_part == part;
            (wanted == "*" || wanted == name) && !part.is_empty() && is_part
        }
        None => part.is_empty() && (rule == "*" || rule == name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing;
    use serde_json::{Value, json};

    fn blocks(edit: impl Fn(&mut Value)) -> bool {
        let mut webhook = json!({
            "name": "a.example.org",
            "failurePolicy": "Fail",
            "timeoutSeconds": 10,
            "clientConfig": { "service": { "name": "a", "namespace": "a" } },
            "rules": [{ "apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"] }],
        });
        edit(&mut webhook);
        let configuration: PartialWebhookConfiguration =
            testing::object(json!({ "metadata": {}, "webhooks": [webhook] }));
        let name = "kubernetes.io/metadata.name".to_owned();
        let labels = BTreeMap::from([(name, "kube-system".to_owned())]);
        configuration.webhooks[0].blocks_waking(&labels)
    }

    #[test]
    fn a_webhook_in_the_shoot_that_has_to_admit_its_system_blocks_waking() {
        assert!(blocks(|_| {}));
        assert!(!blocks(|it| it["failurePolicy"] = json!("Ignore")));
        assert!(blocks(|it| {
            it["failurePolicy"] = json!("Ignore");
            it["timeoutSeconds"] = json!(30);
        }));
        let outside = json!({ "url": "https://example.org" });
        assert!(!blocks(|it| it["clientConfig"] = outside.clone()));
    }

    #[test]
    fn a_webhook_fails_closed_unless_it_is_ignored() {
        let webhook = |fields: Value| -> PartialWebhook { testing::object(fields) };
        assert!(webhook(json!({})).fails_closed());
        assert!(webhook(json!({ "failurePolicy": "Fail" })).fails_closed());
        assert!(!webhook(json!({ "failurePolicy": "Ignore" })).fails_closed());
        assert_eq!(webhook(json!({})).service(), None);
        let service =
            json!({ "clientConfig": { "service": { "namespace": "policy", "name": "server" } } });
        assert_eq!(webhook(service).service().as_deref(), Some("policy/server"));
    }

    #[test]
    fn selectors_exclude_kube_system() {
        let selector = |operator: &str, values: Value| {
            let key = "kubernetes.io/metadata.name";
            json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] })
        };
        let namespaces = |it: Value| blocks(|webhook| webhook["namespaceSelector"] = it.clone());
        assert!(!namespaces(selector("NotIn", json!(["kube-system"]))));
        assert!(namespaces(selector("NotIn", json!(["other"]))));
        assert!(!namespaces(selector("In", json!(["other"]))));
        assert!(!namespaces(selector("DoesNotExist", json!([]))));
        assert!(!namespaces(json!({ "matchLabels": { "inject": "yes" } })));
        let objects = json!({ "matchLabels": { "inject": "yes" } });
        assert!(!blocks(|it| it["objectSelector"] = objects.clone()));
    }

    #[test]
    fn rules_have_patterns() {
        let rule = |group: &str, resource: &str| {
            let rule = json!([{ "apiGroups": [group], "resources": [resource] }]);
            blocks(|it| it["rules"] = rule.clone())
        };
        for resource in ["*", "*/*", "pods/*", "*/status", "nodes", "services/status"] {
            assert!(rule("", resource), "{resource}");
        }
        for resource in ["persistentvolumeclaims", "pods/exec", "events", "*/exec"] {
            assert!(!rule("", resource), "{resource}");
        }
        assert!(rule("*", "leases"));
        assert!(rule("coordination.k8s.io", "leases"));
        assert!(!rule("apps", "leases"));
        assert!(!rule("cert-manager.io", "*"));
    }

    /// Nodes have no namespace, so that no namespaceSelector excludes them.
    #[test]
    fn objects_without_a_namespace_are_always_selected() {
        assert!(blocks(|it| {
            it["namespaceSelector"] = json!({ "matchLabels": { "inject": "yes" } });
            it["rules"][0]["resources"] = json!(["nodes"]);
        }));
    }
}
