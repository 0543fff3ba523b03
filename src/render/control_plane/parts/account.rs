//! Service accounts and permissions of the two control plane components that call the provider's API.

use crate::render::control_plane::context::ControlPlaneContext;
use serde_json::{Value, json};

/// Returns a ServiceAccount, a Role with these rules, and the RoleBinding between them.
pub(crate) fn account(context: &ControlPlaneContext, part: &str, rules: &[RoleRule]) -> [Value; 3] {
    let name = context.name(part);
    let metadata = json!({ "name": name });
    let rules: Value = rules.iter().map(RoleRule::value).collect();
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

pub(crate) struct RoleRule {
    pub(crate) group: &'static str,
    pub(crate) resources: &'static [&'static str],
    pub(crate) verbs: &'static [&'static str],
}

impl RoleRule {
    fn value(&self) -> Value {
        json!({ "apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs })
    }
}
