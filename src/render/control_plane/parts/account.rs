//! Service accounts and permissions of the two control plane components that call the provider's API.

use crate::render::control_plane::context::ControlPlaneContext;
use serde_json::{Value, json};

/// Returns a ServiceAccount, a Role with these rules, and the RoleBinding between them.
pub(crate) fn account(context: &ControlPlaneContext, part: &str, rules: &[RoleRule]) -> [Value; 3] {
    let name = context.name(part);
    [
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": name },
            "automountServiceAccountToken": false,
        }),
        role(&name, rules.iter().map(RoleRule::value).collect()),
        binding(&name, &name, context.site.namespace),
    ]
}

pub(crate) fn role(name: &str, rules: Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": { "name": name },
        "rules": rules,
    })
}

/// The RoleBinding of a Role of the same name to a ServiceAccount.
pub(crate) fn binding(role: &str, account: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": { "name": role },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": namespace }],
    })
}

pub(crate) struct RoleRule {
    pub(crate) group: &'static str,
    pub(crate) resources: &'static [&'static str],
    pub(crate) verbs: &'static [&'static str],
}

impl RoleRule {
    pub(crate) fn value(&self) -> Value {
        json!({ "apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs })
    }
}
