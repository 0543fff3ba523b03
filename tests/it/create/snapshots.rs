//! Snapshots of volumes in a shoot, created by the storage of the provider.

use crate::support::provider::{Provider, Resource};
use crate::support::proxy::wait_until;
use crate::support::shoot_api::{create, shoot_client};
use crate::support::shoots::Manifest;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::DeleteParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

const SNAPSHOT: Resource = Resource("snapshot.storage.k8s.io", "v1", "VolumeSnapshot");
const NAME: &str = "kept";

fn manifest() -> Manifest {
    let classes = json!([{ "name": "standard", "isDefaultClass": true }]);
    Manifest::small(NAME)
        .with(|it| it.profile["spec"]["providerConfig"]["volumeSnapshotClasses"] = classes)
}

fn snapshots(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(SNAPSHOT.0, SNAPSHOT.1, SNAPSHOT.2);
    Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// Creates a PersistentVolumeClaim, from a snapshot or empty, and a pod that mounts it.
fn create_volume(provider: &Provider, client: &Client, name: &str, source: Value) {
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let claim = json!({
        "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
            "dataSource": source,
        },
    });
    create(provider, &claims, claim);
    let pod = json!({
        "metadata": { "name": name },
        "spec": {
            "containers": [{ "name": "db", "image": "registry.example/db" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": name } }],
            "terminationGracePeriodSeconds": 1,
        },
    });
    create(provider, &pods, pod);
    wait_until(|| {
        let pod = provider.block_on(pods.get_status(name)).unwrap();
        pod.status.and_then(|it| it.phase).as_deref() == Some("Running")
    });
}

fn take_snapshot(provider: &Provider, client: &Client, name: &str) {
    let snapshot = json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": { "name": name },
        "spec": { "source": { "persistentVolumeClaimName": "data" } },
    });
    let snapshots = snapshots(client);
    create(provider, &snapshots, snapshot);
    wait_until(|| {
        let snapshot = provider.block_on(snapshots.get(name)).unwrap();
        snapshot.data["status"]["readyToUse"] == true
    });
}

#[test]
#[ignore = "second tier: volumes of a real cluster; goldens have the objects"]
fn snapshots_are_taken_in_the_provider_restored_and_deleted_with_the_shoot() {
    let provider = Provider::new();
    let manifest = manifest();
    provider.assert_applied(&manifest, "created");
    provider.assert_unchanged(&manifest);
    let client = shoot_client(&provider, NAME);
    create_volume(&provider, &client, "data", Value::Null);

    take_snapshot(&provider, &client, "first");
    let created = provider.list(SNAPSHOT);
    assert_eq!(created.len(), 1);
    // The class of the CloudProfile, not the default of the provider.
    assert_eq!(
        created[0].data["spec"]["volumeSnapshotClassName"],
        "standard"
    );
    let labels = created[0].metadata.labels.as_ref().unwrap();
    assert_eq!(labels["csi-driver/cluster"], manifest.id());

    let source = json!({ "apiGroup": SNAPSHOT.0, "kind": SNAPSHOT.2, "name": "first" });
    create_volume(&provider, &client, "restored", source);

    let (api, params) = (snapshots(&client), DeleteParams::default());
    let _ = provider.block_on(api.delete("first", &params)).unwrap();
    provider.wait_for("the snapshot in the provider to be deleted", |it| {
        it.list(SNAPSHOT).is_empty()
    });

    take_snapshot(&provider, &client, "second");
    assert_eq!(provider.list(SNAPSHOT).len(), 1);
    let output = provider
        .kvshoot()
        .run(&format!("delete {NAME} -y --timeout 5m"));
    assert_eq!(output.code, 0, "{output}");
    assert!(output.err.contains("(0 objects remain)"), "{output}");
    assert_eq!(provider.list(SNAPSHOT).len(), 0);
}
