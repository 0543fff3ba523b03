//! What a pod of the control plane may do in the namespace that it stands in: for the two that talk to the provider.

use crate::render::control_plane::context::Context;
use serde_json::{Value, json};

/// A ServiceAccount with a Role of these rules: groups, resources, verbs.
pub(crate) fn account(context: &Context, part: &str, rules: &[Rule]) -> [Value; 3] {
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

pub(crate) struct Rule {
    pub(crate) group: &'static str,
    pub(crate) resources: &'static [&'static str],
    pub(crate) verbs: &'static [&'static str],
}

impl Rule {
    fn value(&self) -> Value {
        json!({ "apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs })
    }
}
