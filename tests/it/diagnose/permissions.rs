//! What the provider does not allow is told by name: rights that are missing, and quotas with their numbers.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider, Resource};
use crate::support::proxy::wait_until;
use crate::support::small_shoots::{Small, there};
use serde_json::{Value, json};

const ACCOUNT: Resource = Resource("", "v1", "ServiceAccount");
const ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "Role");
const BINDING: Resource = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding");
/// Rights that no run needs; a bundle without them says what it could not read.
const LEFT_OUT: [&str; 5] = [
    "pods/log",
    "resourcequotas",
    "limitranges",
    "virtualmachineinstancetypes",
    "virtualmachinepreferences",
];
const QUOTA: Resource = Resource("", "v1", "ResourceQuota");

/// Group, resource, and what may be done to it.
pub(crate) type Rule = (String, String, Vec<String>);

/// All that a shoot needs in its namespace: the Role of the examples, which is the one that the program prints.
pub(crate) fn rules() -> Vec<Rule> {
    let text = std::fs::read_to_string("examples/rbac.yaml").unwrap();
    let (role, _) = text.split_once("\n---\n").unwrap();
    rules_in(&serde_yaml::from_str(role).unwrap())
}

/// What a Role grants.
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

/// The program as a service account that may do only this.
pub(crate) fn as_account(provider: &Provider, name: &str, rules: &[Rule]) -> Kvshoot {
    let metadata = json!({ "name": name });
    let namespace = &provider.namespace;
    provider.create(
        ACCOUNT,
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }),
    );
    let rules: Vec<Value> = rules
        .iter()
        .map(|(group, resource, verbs)| {
            json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
        })
        .collect();
    let api = "rbac.authorization.k8s.io";
    let version = format!("{api}/v1");
    provider.create(
        ROLE,
        json!({ "apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules }),
    );
    provider.create(
        BINDING,
        json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": api, "kind": "Role", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        }),
    );
    // The authorizer hears of it a little later.
    let first = rules[0].clone();
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{namespace}:{name}"),
            "resourceAttributes": {
                "namespace": namespace, "group": first["apiGroups"][0],
                "verb": first["verbs"][0], "resource": first["resources"][0],
            },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    wait_until(|| post(provider, path, &review)["status"]["allowed"] == true);
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
    let ask =
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let token = post(provider, &path, &ask)["status"]["token"].clone();
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

fn post(provider: &Provider, path: &str, object: &Value) -> Value {
    let body = object.to_string().into_bytes();
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(body).unwrap();
    provider
        .block_on(provider.client().request(request))
        .unwrap()
}

#[test]
fn a_tenant_of_the_provider_needs_these_rights_and_no_others() {
    let provider = Provider::new();
    let shoot = Small::new("right");
    let edited = Small {
        machine_type: "medium",
        ..shoot.clone()
    };
    let kvshoot = as_account(&provider, "enough", &rules())
        .file("shoot.yaml", &shoot.manifest())
        .file("edited.yaml", &edited.manifest());
    for (line, told) in [
        ("apply -f shoot.yaml", "right created"),
        ("apply -f edited.yaml", "right configured"),
        ("delete right --yes", "right deleted"),
    ] {
        let output = kvshoot.run(line);
        assert_eq!(output.code, 0, "{line}\n{output}");
        assert!(output.out.contains(told), "{line}\n{output}");
    }
    assert_eq!(there(&provider), Vec::<String>::new());
}

/// Each rule of the Role, and some verbs by themselves.
#[test]
fn a_missing_right_is_named_before_anything_is_made() {
    let provider = Provider::new();
    let manifest = Small::new("right").manifest();
    let whole = rules();
    let one = |verb: &str, resource: &str| {
        let is_it = |it: &&Rule| it.1 == resource && it.2.iter().any(|it| it == verb);
        let rule = whole.iter().find(is_it).unwrap();
        (rule.0.clone(), resource.to_owned(), vec![verb.to_owned()])
    };
    let mut missing = whole.clone();
    missing.retain(|it| !LEFT_OUT.contains(&it.1.as_str()));
    missing.extend([
        one("delete", "virtualmachines"),
        one("watch", "virtualmachines"),
        one("get", "configmaps"),
        one("patch", "leases"),
        // Of what the cloud controller manager is given.
        one("update", "virtualmachineinstances"),
    ]);
    for (number, (_, resource, verbs)) in missing.iter().enumerate() {
        let mut rules = whole.clone();
        for rule in rules.iter_mut().filter(|it| it.1 == *resource) {
            rule.2.retain(|it| !verbs.contains(it));
        }
        rules.retain(|it| !it.2.is_empty());
        let kvshoot = as_account(&provider, &format!("lacks-{number}"), &rules);
        let output = kvshoot
            .file("shoot.yaml", &manifest)
            .run("apply -f shoot.yaml");
        assert_eq!(output.code, 8, "without {verbs:?} {resource}\n{output}");
        // What is looked at before rights are is told by itself.
        let named = |it: &String| output.err.contains(&format!("{it} {resource}"));
        assert!(
            verbs.iter().any(named),
            "without {verbs:?} {resource}\n{output}"
        );
    }
    assert_eq!(there(&provider), Vec::<String>::new());
    println!("{} times a right was missing", missing.len());
}

#[test]
fn a_quota_is_told_with_its_numbers_and_what_fits_is_made() {
    let provider = Provider::new();
    let count = "count/virtualmachines.kubevirt.io";
    provider.create(
        QUOTA,
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "few" },
            "spec": { "hard": { count: "2" } },
        }),
    );
    wait_until(|| provider.get(QUOTA, "few").unwrap().data["status"]["used"][count].is_string());
    let shoot = Small {
        pools: vec![("one", 2), ("two", 2)],
        ..Small::new("quota")
    };
    let kvshoot = provider.kvshoot().file("shoot.yaml", &shoot.manifest());
    let output = kvshoot.run("apply -f shoot.yaml");
    println!("{output}");
    assert_eq!(output.code, 9, "{output}");
    let numbers = "exceeded quota: few, requested: count/virtualmachines.kubevirt.io=1, used: count/virtualmachines.kubevirt.io=2, limited: count/virtualmachines.kubevirt.io=2";
    assert!(output.err.contains(numbers), "{output}");
    let before = "quota few would be exceeded for count/virtualmachines.kubevirt.io: used 0, requested 4, limit 2";
    assert!(output.err.contains(before), "{output}");
    assert_eq!(provider.names(provider::VM).len(), 2);
    provider.delete(QUOTA, "few");
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.names(provider::VM).len(), 4);
}
