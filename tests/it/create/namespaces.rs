//! A cluster with a namespace to itself, as Kubermatic has them, and what it takes from another one.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{NAMESPACE, Provider, Resource};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};

const DATA_VOLUME: Resource = Resource("cdi.kubevirt.io", "v1beta1", "DataVolume");
const ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "Role");
const ROLE_BINDING: Resource = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding");

/// A volume with an image, as the people of the provider keep them.
fn golden(provider: &Provider) {
    let volume = json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
        "metadata": {
            "name": "golden",
            "annotations": { "cdi.kubevirt.io/storage.bind.immediate.requested": "true" },
        },
        "spec": {
            "source": { "blank": {} },
            "storage": {
                "storageClassName": "standard",
                "resources": { "requests": { "storage": "10Gi" } },
            },
        },
    });
    provider.create(DATA_VOLUME, volume);
    provider.wait_for("the volume with the image", |it| {
        let volume = it.get(DATA_VOLUME, "golden").unwrap();
        volume.data["status"]["phase"] == "Succeeded"
    });
}

/// As the documentation of CDI has it.
fn allow_cloning(provider: &Provider, namespace: &str) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": { "name": "cloner" },
        "rules": [{
            "apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes/source"], "verbs": ["create"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "cloner" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "cloner" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": namespace }],
    });
    provider.create(ROLE, role);
    provider.create(ROLE_BINDING, binding);
}

/// One machine on a clone of what is kept in the provider's namespace.
fn manifest(provider: &Provider) -> Manifest {
    let disk = json!({
        "osImage": format!("{}/golden", provider.namespace),
        "size": "20Gi", "storageClassName": "standard",
    });
    Manifest::small("own").pool(|it| {
        it["providerConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkerConfig",
            "template": { "primaryDisk": disk },
        });
    })
}

fn nodes(kvshoot: &Kvshoot) -> Value {
    let output = kvshoot.run("nodes list own -o json");
    assert_eq!(output.code, 0, "{output}");
    serde_json::from_str(&output.out).unwrap()
}

#[test]
fn a_namespace_is_made_for_a_cluster_and_goes_with_it_and_clones_from_others_need_a_right() {
    let images = Provider::new();
    golden(&images);
    let namespace = format!("cluster-{}", images.namespace);
    let kvshoot = images
        .kvshoot_with(&manifest(&images))
        .env("KVSHOOT_NAMESPACE", &namespace);

    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 4, "{output}");
    assert!(output.err.contains("--create-namespace"), "{output}");

    let output = kvshoot.run("apply -f shoot.yaml --create-namespace");
    assert_eq!(output.code, 4, "{output}");
    let told = format!("machines may not clone {}/golden", images.namespace);
    assert!(output.err.contains(&told), "{output}");
    assert!(
        output
            .err
            .contains(&format!("ServiceAccount default of {namespace}")),
        "{output}"
    );

    allow_cloning(&images, &namespace);
    let output = kvshoot.run("apply -f shoot.yaml --create-namespace");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(output.out, "shoot.core.gardener.cloud/own created\n");
    assert_eq!(nodes(&kvshoot)["items"].as_array().unwrap().len(), 1);
    let output = kvshoot.run("apply -f shoot.yaml --create-namespace");
    assert_eq!(output.out, "shoot.core.gardener.cloud/own unchanged\n");

    let output = kvshoot.run("delete own --yes");
    assert_eq!(output.code, 0, "{output}");
    images.wait_for("the namespace to go with the cluster", |it| {
        it.get(NAMESPACE, &namespace).is_none()
    });
    assert!(images.get(DATA_VOLUME, "golden").is_some());
}
