//! Verbs of the printed roles: each of them is used in the life of a shoot, or by accounts that kvshoot creates.

use crate::support::accounts::{Rule, as_account, as_bound, client_of, rules_in};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider, Resource};
use crate::support::proxy::{LEASES, Proxy, Reaction, RecordedRequest};
use crate::support::shoots::Manifest;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "Role");
const ROLE_BINDING: Resource = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding");
const CLUSTER_ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole");
const CLUSTER_BINDING: Resource = Resource("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding");
const ACCOUNT: Resource = Resource("", "v1", "ServiceAccount");

/// What a run leaves that was killed at its start. The Lease of a deleted shoot may be gone before kvshoot deletes it.
fn expired_lease() -> Value {
    let id = "shoot--local--killed";
    let time = "2020-01-01T00:00:00.000000Z";
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": id, "labels": {
            "app.kubernetes.io/managed-by": "kvshoot", "app.kubernetes.io/part-of": id,
            "app.kubernetes.io/component": "lock",
        } },
        "spec": {
            "holderIdentity": "killed", "leaseDurationSeconds": 15, "acquireTime": time, "renewTime": time,
        },
    })
}

/// Verbs that no request of this test has, and why they are needed.
const UNSEEN: [(&str, &str); 14] = [
    (
        "create virtualmachineinstancemigrations.kubevirt.io",
        "only for machines on drained hosts",
    ),
    (
        "delete virtualmachineinstancemigrations.kubevirt.io",
        "only for migrations that are given up",
    ),
    (
        "update virtualmachineinstances.subresources.kubevirt.io/evacuate/cancel",
        "only for machines on hosts that are no longer drained",
    ),
    (
        "delete virtualmachineinstances.kubevirt.io",
        "restores restart machines that joined after the backup",
    ),
    ("list namespaces", "completion of -n"),
    (
        "create datavolumes.cdi.kubevirt.io/source",
        "asked by CDI when a volume is cloned",
    ),
    (
        "create pods/portforward",
        "the request is a get; servers since 1.35 check for create",
    ),
    (
        "delete persistentvolumeclaims",
        "only when a member of etcd leaves or lost its volume",
    ),
    (
        "get priorityclasses.scheduling.k8s.io",
        "only if the manifest names one",
    ),
    (
        "get poddisruptionbudgets.policy",
        "only control planes with several replicas",
    ),
    ("create poddisruptionbudgets.policy", "the same"),
    ("update poddisruptionbudgets.policy", "the same"),
    ("delete poddisruptionbudgets.policy", "the same"),
    (
        "get storageprofiles.cdi.kubevirt.io",
        "pools that share a volume",
    ),
];

/// Objects of a shoot that are replaced when they have changed.
const REPLACED: [Resource; 11] = [
    provider::CONFIG_MAP,
    provider::SERVICE,
    ACCOUNT,
    ROLE,
    ROLE_BINDING,
    provider::DEPLOYMENT,
    provider::STATEFUL_SET,
    provider::NETWORK_POLICY,
    provider::NETWORK,
    provider::DATA_VOLUME,
    provider::INSTANCETYPE,
];

fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text);
    documents
        .map(|it| Value::deserialize(it).unwrap())
        .collect()
}

/// `verb resource`, as in the names of requests of the proxy.
fn verbs((group, resource, verbs): &Rule) -> Vec<String> {
    let (plural, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let group = match group.as_str() {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let sub = if sub.is_empty() {
        String::new()
    } else {
        format!("/{sub}")
    };
    verbs
        .iter()
        .map(|it| format!("{it} {plural}{group}{sub}"))
        .collect()
}

fn all_verbs(rules: &[Rule]) -> BTreeSet<String> {
    rules.iter().flat_map(verbs).collect()
}

/// An account with the printed Role and ClusterRole; returns it with the verbs of these.
fn account(provider: &Provider) -> (Kvshoot, BTreeSet<String>) {
    let printed = documents(&std::fs::read_to_string("examples/rbac.yaml").unwrap());
    let (role, cluster) = (rules_in(&printed[0]), rules_in(&printed[1]));
    let kvshoot = as_account(provider, "printed", &role);
    let name = format!("printed-{}", provider.namespace);
    let mut object = printed[1].clone();
    object["metadata"]["name"] = json!(name);
    provider.create(CLUSTER_ROLE, object);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": "printed", "namespace": provider.namespace }],
    });
    provider.create(CLUSTER_BINDING, binding);
    // The authorizer observes this binding, which is newer, after that of the ClusterRole.
    let _ = as_bound(provider, "later", ("Role", "printed"), &role[0]);
    (kvshoot, all_verbs(&[role, cluster].concat()))
}

/// A shoot with a network, and an instancetype and a preference of its own.
fn shoot() -> Manifest {
    Manifest::example("standard-types").with_size(1).with(|it| {
        let lan = json!({ "name": "lan", "config": r#"{"cniVersion":"0.4.0","type":"bridge","bridge":"br0"}"# });
        it.shoot["spec"]["provider"]["infrastructureConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "InfrastructureConfig",
            "networks": { "tenantNetworks": [lan] },
        });
        let classes = json!([{ "name": "standard" }]);
        it.profile["spec"]["providerConfig"]["volumeSnapshotClasses"] = classes;
    })
}

/// Loses the response to the first request of each verb and resource that creates or deletes something.
fn lose_first_responses(request: &RecordedRequest) -> Reaction {
    let is_write = matches!(request.verb, "create" | "delete");
    let is_review = request.resource.ends_with(".authorization.k8s.io");
    match is_write && !is_review && request.resource != LEASES && request.nth == 1 {
        true => Reaction::Reset { forwarded: true },
        false => Reaction::Forward,
    }
}

/// Makes objects look as if someone had changed them.
fn change_all(provider: &Provider, id: &str) {
    let other =
        json!({ "metadata": { "annotations": { "kvshoot.io/spec-hash": "0000000000000000" } } });
    for kind in REPLACED.into_iter().chain([provider::PREFERENCE]) {
        for name in provider.names(kind) {
            let is_record = kind.2 == "ConfigMap" && name == id;
            if name.starts_with(id) && !is_record {
                provider.patch(kind, &name, &other);
            }
        }
    }
    provider.patch(provider::SECRET, &format!("{id}-kube-scheduler"), &other);
}

#[test]
#[ignore = "second tier: a life of a shoot; a unit test holds the list of verbs against the code"]
fn every_verb_of_the_printed_roles_is_used_in_the_life_of_a_shoot() {
    let provider = Provider::new();
    let (account, printed) = account(&provider);
    let proxy = Proxy::with_client(&provider, client_of(&provider, &account));
    let first = shoot();
    let four = json!({ "name": "standard-4" });
    let edited = shoot().pool(|it| it["providerConfig"]["instancetype"] = four);
    let kvshoot = proxy
        .kvshoot(&provider)
        .file("shoot.yaml", &first.text())
        .file("edited.yaml", &edited.text());
    let mut seen = BTreeSet::new();
    let mut run = |line: &str, codes: &[i32]| {
        proxy.script(lose_first_responses);
        let output = kvshoot.run(line);
        assert!(codes.contains(&output.code), "{line}\n{output}");
        seen.extend(
            proxy
                .requests()
                .iter()
                .map(|it| format!("{} {}", it.verb, it.resource)),
        );
    };
    run("doctor -f shoot.yaml", &[0, 1]);
    run("init dev --no-input -f made.yaml", &[0, 1, 2, 4]);
    run("plan -f shoot.yaml", &[0, 2]);
    run("apply -f shoot.yaml", &[0]);
    let granted: BTreeSet<String> = provider
        .list(ROLE)
        .iter()
        .filter(|it| {
            it.metadata
                .name
                .as_deref()
                .is_some_and(|it| it.starts_with(&first.id()))
        })
        .flat_map(|it| all_verbs(&rules_in(&it.data)))
        .collect();
    change_all(&provider, &first.id());
    run("apply -f shoot.yaml", &[0]);
    run("apply -f edited.yaml", &[0]);
    // When the rolling update begins, and when it has ended.
    let mut roles = proxy.requests();
    roles.retain(|it| it.verb == "update" && it.name.ends_with("-csi-machines"));
    assert_eq!(roles.len(), 2, "{roles:?}");
    for line in [
        "status types",
        "list",
        "nodes list types",
        "pools list types",
        "images list types",
        "get types",
        "kubeconfig get types",
        "exec types -- true",
        "why types",
        "events types",
        "events types --watch --timeout 10s",
        "bundle types -o bundle.tar.gz",
        "protect types",
        "unprotect types",
        "ttl types 2h",
        "evacuate types",
        "gc --dry-run",
        "delete types --yes",
    ] {
        run(line, &[0, 1]);
    }
    provider.create(provider::LEASE, expired_lease());
    run("gc", &[0]);
    let unseen: BTreeSet<String> = UNSEEN.iter().map(|it| it.0.to_owned()).collect();
    let used: BTreeSet<String> = seen.union(&granted).cloned().collect();
    let surplus: Vec<_> = printed
        .difference(&used)
        .filter(|it| !unseen.contains(*it))
        .collect();
    assert_eq!(surplus, Vec::<&String>::new(), "printed, and never used");
    let stale: Vec<_> = unseen.intersection(&used).collect();
    assert_eq!(stale, Vec::<&String>::new(), "seen after all");
}
