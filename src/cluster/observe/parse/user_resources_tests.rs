use super::*;
use crate::cluster::objects::testing::complete;
use crate::cluster::observe::cache::Cache;
use crate::state::key::ClusterSide;
use serde_json::json;

const PODS: (ClusterSide, ObjectKind) = (ClusterSide::Shoot, ObjectKind::Pod);
const CLAIMS: (ClusterSide, ObjectKind) = (ClusterSide::Shoot, ObjectKind::PersistentVolumeClaim);
const VOLUMES: (ClusterSide, ObjectKind) = (ClusterSide::Shoot, ObjectKind::PersistentVolume);

fn metadata(name: &str, version: u32) -> Value {
    json!({ "name": name, "namespace": "default", "uid": name, "resourceVersion": version.to_string() })
}

fn volume(name: &str, claim: &str, driver: &str, policy: &str) -> Value {
    json!({
        "metadata": { "name": name, "uid": name, "resourceVersion": "1" },
        "spec": {
            "persistentVolumeReclaimPolicy": policy,
            "claimRef": { "namespace": "default", "name": claim },
            "csi": { "driver": driver },
        },
    })
}

fn pod(name: &str, volume: Value) -> Value {
    json!({
        "metadata": metadata(name, 1),
        "spec": { "nodeName": "a", "volumes": [volume] },
        "status": { "phase": "Running" },
    })
}

fn cache() -> Cache {
    let mut cache = Cache::new("a");
    let claims =
        ["ours", "others", "kept", "scratch-tmp"].map(|it| json!({ "metadata": metadata(it, 1) }));
    let volumes = [
        volume("v1", "ours", DRIVER, "Delete"),
        volume("v2", "others", "nfs.example.org", "Delete"),
        volume("v3", "kept", DRIVER, "Retain"),
        volume("v4", "scratch-tmp", DRIVER, "Delete"),
    ];
    let named =
        |claim: &str| json!({ "name": "x", "persistentVolumeClaim": { "claimName": claim } });
    let mut over = pod("over", named("ours"));
    over["status"]["phase"] = "Succeeded".into();
    let pods = [
        pod("db", named("ours")),
        pod("nfs", named("others")),
        pod("plain", json!({ "name": "x", "emptyDir": {} })),
        pod("scratch", json!({ "name": "tmp", "ephemeral": {} })),
        over,
    ];
    for (scope, items) in [(CLAIMS, &claims[..]), (VOLUMES, &volumes), (PODS, &pods)] {
        let listed = cache.list(scope, "1", items, Duration::ZERO, None);
        listed.unwrap();
    }
    cache
}

fn names(facts: &Facts) -> Vec<String> {
    let things = facts.user_resources.objects.keys();
    things.map(|it| it.to_string()).collect()
}

#[test]
fn only_volumes_that_are_deleted_with_their_claim_are_relevant() {
    assert_eq!(
        names(&cache().facts(Duration::ZERO)),
        [
            "PersistentVolumeClaim default/ours",
            "PersistentVolumeClaim default/scratch-tmp",
            "PersistentVolume v1",
            "PersistentVolume v4",
            "Pod default/db",
            "Pod default/scratch",
        ]
    );
}

#[test]
fn deletions_are_progress_and_new_objects_are_not() {
    let seconds = Duration::from_secs;
    let mut cache = cache();
    let moved = |cache: &mut Cache, now| cache.facts(seconds(now)).user_resources.last_progress;
    assert_eq!(moved(&mut cache, 1), Duration::ZERO);
    let mut more = pod(
        "more",
        json!({ "name": "x", "persistentVolumeClaim": { "claimName": "ours" } }),
    );
    more["metadata"]["resourceVersion"] = "2".into();
    cache.put(PODS, &more, seconds(2), None).unwrap();
    assert_eq!(moved(&mut cache, 2), Duration::ZERO);
    let mut claim = json!({ "metadata": metadata("ours", 2) });
    claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    cache.put(CLAIMS, &claim, seconds(3), None).unwrap();
    assert_eq!(moved(&mut cache, 3), seconds(3));
    let mut gone = more;
    gone["metadata"]["resourceVersion"] = "3".into();
    cache.remove(PODS, &gone).unwrap();
    assert_eq!(moved(&mut cache, 4), seconds(4));
    assert_eq!(moved(&mut cache, 5), seconds(4));
    cache.static_facts.shoot_api = ShootApi::Reachable;
    assert_eq!(moved(&mut cache, 6), seconds(6));
}

#[test]
fn services_without_load_balancer_and_foreign_storage_classes_are_ignored() {
    let is_relevant = |kind: ObjectKind, object: Value| {
        let parsed = parse_user_resource(kind, &complete(object));
        parsed.expect("its fields are valid").1.is_some()
    };
    let service = |kind: &str| {
        let object = json!({ "spec": { "type": kind } });
        is_relevant(ObjectKind::ShootLoadBalancer, object)
    };
    assert!(service("LoadBalancer") && !service("ClusterIP"));
    let class = |driver: &str| {
        let object = json!({ "provisioner": driver });
        is_relevant(ObjectKind::ShootStorageClass, object)
    };
    assert!(class(DRIVER) && !class("nfs.example.org"));
}
