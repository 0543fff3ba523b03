//! Service accounts of the provider with the permissions of a Role.

use super::kvshoot::Kvshoot;
use super::provider::{Provider, Resource};
use super::proxy::wait_until;
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io";
const ACCOUNT: Resource = Resource("", "v1", "ServiceAccount");
const ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "Role");
const BINDING: Resource = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding");

/// Group, resource and verbs of a rule.
pub(crate) type Rule = (String, String, Vec<String>);

/// Returns the rules of the Role in `examples/rbac.yaml`, which kvshoot prints: all permissions that a shoot needs.
pub(crate) fn rules() -> Vec<Rule> {
    let text = std::fs::read_to_string("examples/rbac.yaml").unwrap();
    let (role, _) = text.split_once("\n---\n").unwrap();
    rules_in(&serde_yaml::from_str(role).unwrap())
}

/// Returns the rules of a Role.
pub(crate) fn rules_in(role: &Value) -> Vec<Rule> {
    let words = |list: &Value| -> Vec<String> {
        let words = list.as_array().unwrap().iter();
        words.map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let mut rules = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        for resource in words(&rule["resources"]) {
            let group = words(&rule["apiGroups"]).remove(0);
            rules.push((group, resource, words(&rule["verbs"])));
        }
    }
    rules
}

/// Returns the program, authenticated as a service account with these rules only.
pub(crate) fn as_account(provider: &Provider, name: &str, rules: &[Rule]) -> Kvshoot {
    let first = rules[0].clone();
    let rules: Vec<Value> = rules
        .iter()
        .map(|(group, resource, verbs)| {
            json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
        })
        .collect();
    let version = format!("{RBAC}/v1");
    provider.create(
        ROLE,
        json!({
            "apiVersion": version, "kind": "Role",
            "metadata": { "name": name }, "rules": rules,
        }),
    );
    as_bound(provider, name, ("Role", name), &first)
}

/// Returns a client with the credentials that [`as_account`] gives to the program.
pub(crate) fn client_of(provider: &Provider, kvshoot: &Kvshoot) -> kube::Client {
    let file = kvshoot.home().join("kubeconfig");
    provider.block_on(async {
        let config = kube::config::Kubeconfig::read_from(file).unwrap();
        let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await;
        kube::Client::try_from(config.unwrap()).unwrap()
    })
}

/// Returns the program, authenticated as a service account with this role, Role or ClusterRole, in the namespace.
/// `rule` is one of those that the role has.
pub(crate) fn as_bound(
    provider: &Provider,
    name: &str,
    (kind, role): (&str, &str),
    (group, resource, verbs): &Rule,
) -> Kvshoot {
    let metadata = json!({ "name": name });
    let namespace = &provider.namespace;
    provider.create(
        ACCOUNT,
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }),
    );
    provider.create(
        BINDING,
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": kind, "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        }),
    );
    // The authorizer observes the binding a little later.
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{namespace}:{name}"),
            "resourceAttributes": {
                "namespace": namespace, "group": group, "verb": verbs[0], "resource": resource,
            },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    wait_until(|| post(provider, path, &review)["status"]["allowed"] == true);
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
    let token_request =
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let token = post(provider, &path, &token_request)["status"]["token"].clone();
    let admin = std::fs::read_to_string(provider.kubeconfig()).unwrap();
    let admin: Value = serde_yaml::from_str(&admin).unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{ "name": name, "cluster": admin["clusters"][0]["cluster"] }],
        "users": [{ "name": name, "user": { "token": token } }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": namespace } }],
    });
    let kvshoot = Kvshoot::new().file("kubeconfig", &config.to_string());
    let path = kvshoot.home().join("kubeconfig");
    kvshoot.env("KUBECONFIG", path.to_str().unwrap())
}

/// Returns true if a service account may attach volumes to a machine.
pub(crate) fn may_attach_volumes(provider: &Provider, account: &str, machine: &str) -> bool {
    let namespace = &provider.namespace;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{namespace}:{account}"),
            "resourceAttributes": {
                "namespace": namespace, "group": "subresources.kubevirt.io", "verb": "update",
                "resource": "virtualmachines", "subresource": "addvolume", "name": machine,
            },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    post(provider, path, &review)["status"]["allowed"] == true
}

fn post(provider: &Provider, path: &str, object: &Value) -> Value {
    let body = object.to_string().into_bytes();
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(body).unwrap();
    provider
        .block_on(provider.client().request(request))
        .unwrap()
}
