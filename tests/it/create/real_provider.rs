//! Provider clusters as they are run for tenants: few permissions, quotas, Pod Security, no load balancer.

use crate::support::accounts::as_bound;
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{DEPLOYMENT, NAMESPACE, Provider, Resource, SERVICE, STATEFUL_SET};
use crate::support::shoots::Manifest;
use crate::support::small_shoots::inventory;
use serde_json::{Value, json};

const CLUSTER_ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole");
const QUOTA: Resource = Resource("", "v1", "ResourceQuota");
const LIMIT_RANGE: Resource = Resource("", "v1", "LimitRange");
const NAME: &str = "tenant";
/// The fault of the sandbox by which a Service never gets an address.
const FAULT: &str = "sandbox.kvshoot.io/fault";

/// The rules that KubeVirt 1.8 and CDI 1.66 add to Kubernetes' ClusterRole `admin`, as far as kvshoot uses them.
fn aggregate(provider: &Provider) {
    let all = json!([
        "get",
        "delete",
        "create",
        "update",
        "patch",
        "list",
        "watch",
        "deletecollection",
    ]);
    let attach = ["virtualmachines", "virtualmachineinstances"]
        .map(|it| [format!("{it}/addvolume"), format!("{it}/removevolume")]);
    let rules = json!([
        {
            "apiGroups": ["kubevirt.io"],
            "resources": ["virtualmachines", "virtualmachineinstances"], "verbs": all,
        },
        {
            "apiGroups": ["subresources.kubevirt.io"],
            "resources": attach.concat(), "verbs": ["update"],
        },
        {
            "apiGroups": ["instancetype.kubevirt.io"],
            "resources": ["virtualmachineinstancetypes", "virtualmachinepreferences"], "verbs": all,
        },
        { "apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes"], "verbs": ["*"] },
        {
            "apiGroups": ["cdi.kubevirt.io"],
            "resources": ["datavolumes/source"], "verbs": ["create"],
        },
    ]);
    let labels = json!({ "rbac.authorization.k8s.io/aggregate-to-admin": "true" });
    provider.create(
        CLUSTER_ROLE,
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": "virtualization-admin", "labels": labels }, "rules": rules,
        }),
    );
}

/// A user whose only permission is the ClusterRole `admin` in the namespace.
fn tenant(provider: &Provider, manifest: &Manifest) -> Kvshoot {
    aggregate(provider);
    let rule = (
        "kubevirt.io".to_owned(),
        "virtualmachines".to_owned(),
        vec!["create".to_owned()],
    );
    let kvshoot = as_bound(provider, "tenant", ("ClusterRole", "admin"), &rule);
    kvshoot.file("shoot.yaml", &manifest.text())
}

fn enforce(provider: &Provider, standard: &str) {
    let labels = json!({ "pod-security.kubernetes.io/enforce": standard });
    let patch = json!({ "metadata": { "labels": labels } });
    provider.patch(NAMESPACE, &provider.namespace, &patch);
}

/// A quota that refuses containers without a memory limit, and a default that is less than what etcd requests.
fn limit_memory(provider: &Provider) {
    provider.create(
        QUOTA,
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "memory" },
            "spec": { "hard": { "limits.memory": "256Gi", "requests.memory": "64Gi" } },
        }),
    );
    provider.create(
        LIMIT_RANGE,
        json!({
            "apiVersion": "v1", "kind": "LimitRange", "metadata": { "name": "usual" },
            "spec": { "limits": [{ "type": "Container", "default": { "memory": "256Mi" } }] },
        }),
    );
}

#[test]
fn a_tenant_with_a_quota_and_without_a_load_balancer_gets_a_cluster() {
    let provider = Provider::new();
    let manifest = Manifest::small(NAME).with(|it| {
        it.shoot["spec"]["provider"]["controlPlaneConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "ControlPlaneConfig",
            "exposure": { "type": "LoadBalancer", "annotations": { FAULT: "no-address" } },
        });
    });
    enforce(&provider, "baseline");
    limit_memory(&provider);
    let kvshoot = tenant(&provider, &manifest);

    let apply = kvshoot.start("apply -f shoot.yaml");
    provider.wait_for("all but the load balancer", |_| {
        let left = kvshoot.run("plan -f shoot.yaml -o json --exit-code");
        is_only_the_address_left(&left.out)
    });
    apply.interrupt();
    let output = apply.wait();
    assert_eq!(output.code, 130, "{output}");
    every_container_has_a_memory_limit(&provider);
    let nodes = kvshoot.run(&format!("wait {NAME} --for nodes=1 --timeout 0s"));
    assert_eq!(nodes.code, 0, "{nodes}");

    // It gets one after all.
    let service = format!("shoot--local--{NAME}-kube-apiserver-external");
    let healed = json!({ "metadata": { "annotations": { FAULT: null } } });
    provider.patch(SERVICE, &service, &healed);
    provider.wait_for("the address", |it| {
        let service = it.get(SERVICE, &service).unwrap();
        service.data["status"]["loadBalancer"]["ingress"][0]["ip"].is_string()
    });
    let plan = kvshoot.run("plan -f shoot.yaml");
    assert!(plan.out.contains("kube-apiserver"), "{plan}");

    let output = kvshoot.run(&format!("delete {NAME} --yes"));
    assert_eq!(output.code, 0, "{output}");
    assert!(output.err.contains("no permission to list"), "{output}");
    assert_eq!(inventory(&provider), Vec::<String>::new());
}

fn is_only_the_address_left(plan: &str) -> bool {
    let plan: Value = serde_json::from_str(plan).unwrap_or_default();
    let plan = &plan[0];
    let changes = plan["changes"].as_array().map(Vec::len);
    let waiting = plan["waiting"].as_array().cloned().unwrap_or_default();
    let only = |it: &Value| {
        it.as_str()
            .is_some_and(|it| it.starts_with("Expose API server"))
    };
    changes == Some(0) && waiting.len() == 1 && waiting.iter().all(only)
}

fn every_container_has_a_memory_limit(provider: &Provider) {
    let workloads = [provider.list(DEPLOYMENT), provider.list(STATEFUL_SET)].concat();
    assert_eq!(workloads.len(), 6);
    for workload in workloads {
        let pod = &workload.data["spec"]["template"]["spec"];
        let lists = ["containers", "initContainers"].map(|it| pod[it].as_array());
        for container in lists.into_iter().flatten().flatten() {
            let limits = &container["resources"]["limits"];
            assert!(limits["memory"].is_string(), "{container:#}");
        }
    }
}

#[test]
fn a_namespace_that_refuses_vms_is_reported_before_anything_is_created() {
    let provider = Provider::new();
    enforce(&provider, "restricted");
    let output = provider.apply(&Manifest::small("strict"));
    assert_eq!(output.code, 4, "{output}");
    let remedy = "label the namespace pod-security.kubernetes.io/enforce=baseline";
    assert!(output.err.contains(remedy), "{output}");
    assert_eq!(inventory(&provider), Vec::<String>::new());
    let doctor = provider.kvshoot().run("doctor");
    assert_eq!(doctor.code, 1, "{doctor}");
    assert!(doctor.out.contains("failure  pod security"), "{doctor}");
}
