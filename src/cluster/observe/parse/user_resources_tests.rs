use super::*;
use crate::cluster::observe::cache::World;
use crate::state::key::Side;
use serde_json::json;

const PODS: (Side, Kind) = (Side::Shoot, Kind::Pod);
const CLAIMS: (Side, Kind) = (Side::Shoot, Kind::Claim);
const VOLUMES: (Side, Kind) = (Side::Shoot, Kind::Volume);

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

fn world() -> World {
    let mut world = World::new("a");
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
    for (source, items) in [(CLAIMS, &claims[..]), (VOLUMES, &volumes), (PODS, &pods)] {
        let listed = world.list(source, "1", items, Duration::ZERO, None);
        listed.unwrap();
    }
    world
}

fn names(facts: &Facts) -> Vec<String> {
    let things = facts.guests.things.keys();
    things.map(|it| it.to_string()).collect()
}

#[test]
fn only_what_holds_a_volume_that_goes_with_its_claim_is_looked_at() {
    assert_eq!(
        names(&world().facts(Duration::ZERO)),
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
fn what_goes_is_progress_and_what_comes_is_none() {
    let seconds = Duration::from_secs;
    let mut world = world();
    let moved = |world: &mut World, now| world.facts(seconds(now)).guests.moved;
    assert_eq!(moved(&mut world, 1), Duration::ZERO);
    let mut more = pod(
        "more",
        json!({ "name": "x", "persistentVolumeClaim": { "claimName": "ours" } }),
    );
    more["metadata"]["resourceVersion"] = "2".into();
    world.put(PODS, &more, seconds(2), None).unwrap();
    assert_eq!(moved(&mut world, 2), Duration::ZERO);
    let mut claim = json!({ "metadata": metadata("ours", 2) });
    claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    world.put(CLAIMS, &claim, seconds(3), None).unwrap();
    assert_eq!(moved(&mut world, 3), seconds(3));
    let mut gone = more;
    gone["metadata"]["resourceVersion"] = "3".into();
    world.gone(PODS, &gone).unwrap();
    assert_eq!(moved(&mut world, 4), seconds(4));
    assert_eq!(moved(&mut world, 5), seconds(4));
    world.fixed.inside = Inside::Observed;
    assert_eq!(moved(&mut world, 6), seconds(6));
}

#[test]
fn services_without_a_load_balancer_and_classes_of_other_drivers_are_left_alone() {
    let service =
        |kind: &str| holds(Kind::Balancer, &json!({ "spec": { "type": kind } })).is_some();
    assert!(service("LoadBalancer") && !service("ClusterIP"));
    let class =
        |driver: &str| holds(Kind::VolumeClass, &json!({ "provisioner": driver })).is_some();
    assert!(class(DRIVER) && !class("nfs.example.org"));
}
