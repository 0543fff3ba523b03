//! Snapshots of volumes inside a shoot, which the provider's storage makes.

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

/// A claim, from a snapshot or from nothing, and a pod that has it.
fn used(provider: &Provider, client: &Client, name: &str, source: Value) {
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

fn taken(provider: &Provider, client: &Client, name: &str) {
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
fn a_snapshot_is_made_by_the_provider_and_gives_a_volume_and_goes_with_the_shoot() {
    let provider = Provider::new();
    let manifest = manifest();
    provider.assert_applied(&manifest, "created");
    provider.assert_unchanged(&manifest);
    let client = shoot_client(&provider, NAME);
    used(&provider, &client, "data", Value::Null);

    taken(&provider, &client, "first");
    let made = provider.list(SNAPSHOT);
    assert_eq!(made.len(), 1);
    // That of the profile, and not whatever the provider's default is.
    assert_eq!(made[0].data["spec"]["volumeSnapshotClassName"], "standard");
    let labels = made[0].metadata.labels.as_ref().unwrap();
    assert_eq!(labels["csi-driver/cluster"], manifest.id());

    let source = json!({ "apiGroup": SNAPSHOT.0, "kind": SNAPSHOT.2, "name": "first" });
    used(&provider, &client, "restored", source);

    let (api, params) = (snapshots(&client), DeleteParams::default());
    let _ = provider.block_on(api.delete("first", &params)).unwrap();
    provider.wait_for("the provider's snapshot to go", |it| {
        it.list(SNAPSHOT).is_empty()
    });

    taken(&provider, &client, "second");
    assert_eq!(provider.list(SNAPSHOT).len(), 1);
    let output = provider
        .kvshoot()
        .run(&format!("delete {NAME} -y --timeout 5m"));
    assert_eq!(output.code, 0, "{output}");
    assert!(output.err.contains("nothing is left"), "{output}");
    assert_eq!(provider.list(SNAPSHOT).len(), 0);
}
