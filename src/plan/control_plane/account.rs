//! Service accounts and permissions of the two control plane components that call the provider's API.

use super::Context;
use serde_json::{Value, json};

/// Returns a ServiceAccount, a Role with these rules, and the RoleBinding between them.
pub(super) fn account(context: &Context, part: &str, rules: &[Rule]) -> [Value; 3] {
    let name = context.name(part);
    let metadata = json!({ "name": name });
    let rules: Value = rules.iter().map(Rule::value).collect();
    [
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata,
            "automountServiceAccountToken": false,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": rules,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
            "subjects": [{
                "kind": "ServiceAccount",
                "name": name,
                "namespace": context.site.namespace,
            }],
        }),
    ]
}

/// A rule of a Role: API group, resources and verbs.
pub(super) struct Rule {
    pub(super) group: &'static str,
    pub(super) resources: &'static [&'static str],
    pub(super) verbs: &'static [&'static str],
}

impl Rule {
    fn value(&self) -> Value {
        json!({ "apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs })
    }
}
