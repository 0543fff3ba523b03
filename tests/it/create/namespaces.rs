//! A cluster in a separate namespace, with an image from another namespace.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{NAMESPACE, Provider, Resource};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};

const DATA_VOLUME: Resource = Resource("cdi.kubevirt.io", "v1beta1", "DataVolume");
const ROLE: Resource = Resource("rbac.authorization.k8s.io", "v1", "Role");
const ROLE_BINDING: Resource = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding");

/// Creates a golden volume.
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
    provider.wait_for("the golden volume", |it| {
        let volume = it.get(DATA_VOLUME, "golden").unwrap();
        volume.data["status"]["phase"] == "Succeeded"
    });
}

/// Grants the permission to clone, as in the documentation of CDI.
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

/// One machine on a clone of the golden volume.
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
fn a_created_namespace_is_deleted_with_its_cluster_and_clones_from_others_need_a_permission() {
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
    let expected = format!("machines cannot clone volume {}/golden", images.namespace);
    assert!(output.err.contains(&expected), "{output}");
    assert!(
        output
            .err
            .contains(&format!("ServiceAccount {namespace}/default")),
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
    images.wait_for("the namespace to be deleted", |it| {
        it.get(NAMESPACE, &namespace).is_none()
    });
    assert!(images.get(DATA_VOLUME, "golden").is_some());
}
