use super::*;
use serde_json::json;

const RUN: Duration = Duration::ZERO;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn world() -> World {
    let mut world = World::new("a");
    let record = json!({ "metadata": { "name": "a", "uid": "r", "resourceVersion": "1" } });
    world
        .list((Side::Provider, Kind::Record), "1", &[record], RUN, None)
        .expect("versions are numbers");
    world
}

fn vm(version: u32, shoot: &str, status: Value) -> Value {
    json!({
        "metadata": {
            "name": "a-cpu-z1-12345-0",
            "uid": "u",
            "resourceVersion": version.to_string(),
            "creationTimestamp": "1970-01-01T00:00:00Z",
            "labels": { "kvshoot.io/pool": "cpu", "kvshoot.io/zone-index": "1", "kvshoot.io/shoot-uid": shoot },
        },
        "status": status,
    })
}

fn put(world: &mut World, object: &Value, now: u64) {
    world
        .put(
            (Side::Provider, Kind::Machine),
            object,
            seconds(now),
            Some(60),
        )
        .expect("versions are numbers");
}

/// The shoot's API server is looked at, and says this of the machine's node.
fn node(world: &mut World, version: u32, ready: &str, taints: Value) {
    world.fixed.inside = Inside::Observed;
    let object = json!({
        "metadata": { "name": "a-cpu-z1-12345-0", "uid": "n", "resourceVersion": version.to_string() },
        "spec": { "providerID": "kubevirt://a-cpu-z1-12345-0", "taints": taints },
        "status": { "conditions": [
            { "type": "MemoryPressure", "status": "False", "message": "there is enough" },
            { "type": "Ready", "status": ready, "message": "the network is not ready" },
        ] },
    });
    world
        .put((Side::Shoot, Kind::Node), &object, RUN, None)
        .expect("versions are numbers");
}

fn machine(world: &mut World, now: u64) -> Machine {
    let facts = world.facts(seconds(now));
    facts.machines["cpu"]["a-cpu-z1-12345-0"].clone()
}

#[test]
fn a_machine_that_was_ready_is_not_ready_and_no_longer_coming() {
    let mut world = world();
    node(&mut world, 2, "True", json!([]));
    put(&mut world, &vm(2, "r", json!({ "ready": false })), 1);
    assert_eq!(machine(&mut world, 1).look, Look::Coming);
    put(&mut world, &vm(3, "r", json!({ "ready": true })), 5);
    assert_eq!(machine(&mut world, 5).look, Look::Ready);
    put(&mut world, &vm(4, "r", json!({ "ready": false })), 8);
    let now = machine(&mut world, 9);
    assert_eq!((now.look, now.since), (Look::NotReady, seconds(9)));
    // An older event changes nothing, and time alone does not either.
    put(&mut world, &vm(3, "r", json!({ "ready": true })), 10);
    let now = machine(&mut world, 12);
    assert_eq!((now.look, now.since), (Look::NotReady, seconds(9)));
}

/// Look, whether the VM runs, and why it is not ready.
fn stands(world: &mut World) -> (Look, bool, Option<String>) {
    let it = machine(world, 5);
    (it.look, it.runs, it.cause.map(|it| it.to_string()))
}

fn coming(why: &str) -> (Look, bool, Option<String>) {
    (Look::Coming, true, Some(why.to_owned()))
}

#[test]
fn a_machine_is_ready_when_its_node_serves() {
    let mut world = world();
    put(&mut world, &vm(2, "r", json!({ "ready": true })), 1);
    world.fixed.inside = Inside::Observed;
    let joins = coming(
        "its node to join the shoot; the VM runs, and its serial console tells how far it is",
    );
    assert_eq!(stands(&mut world), joins);
    node(&mut world, 2, "False", json!([]));
    assert_eq!(stands(&mut world), coming("the network is not ready"));
    let taint = json!([{ "key": "node.cloudprovider.kubernetes.io/uninitialized" }]);
    node(&mut world, 3, "True", taint);
    let known = coming("the cloud controller manager to know it");
    assert_eq!(stands(&mut world), known);
    let taint = json!([{ "key": "node.kubernetes.io/not-ready", "effect": "NoExecute" }]);
    node(&mut world, 4, "True", taint);
    let closed = coming("the controller manager to let pods onto it");
    assert_eq!(stands(&mut world), closed);
    node(&mut world, 5, "True", json!([{ "key": "a.pool/wants-it" }]));
    assert_eq!(stands(&mut world), (Look::Ready, true, None));
    node(&mut world, 6, "Unknown", json!([]));
    assert_eq!(stands(&mut world).0, Look::NotReady);
}

/// A node that lives on is of no use while its machine is down.
#[test]
fn a_node_does_not_stand_in_for_its_machine() {
    let mut world = world();
    node(&mut world, 2, "True", json!([]));
    put(&mut world, &vm(2, "r", json!({ "ready": false })), 1);
    assert_eq!(stands(&mut world).0, Look::Coming);
}

/// Else a machine would go because nobody could ask about its node.
#[test]
fn while_nobody_can_ask_about_nodes_a_machine_that_runs_counts_and_is_not_known_to_have_served() {
    let mut world = world();
    put(&mut world, &vm(2, "r", json!({ "ready": true })), 1);
    world.fixed.inside = Inside::Unreachable("no answer".into());
    assert_eq!(stands(&mut world), (Look::Ready, true, None));
    world.fixed.inside = Inside::Observed;
    assert_eq!(stands(&mut world).0, Look::Coming);
}

#[test]
fn nodes_are_told_as_they_are_and_whose_they_are() {
    let mut world = world();
    node(&mut world, 2, "False", json!([{ "key": "b" }]));
    let facts = world.facts(RUN);
    let found = &facts.nodes["a-cpu-z1-12345-0"];
    assert_eq!((found.serves, found.is_ours), (false, false));
    assert_eq!(&*found.why, "the network is not ready");
    assert_eq!(*found.taints, [json!({ "key": "b" })]);
}

#[test]
fn an_old_machine_has_served_once() {
    let mut world = world();
    let object = vm(2, "r", json!({ "ready": false }));
    world
        .put((Side::Provider, Kind::Machine), &object, RUN, Some(OLD + 1))
        .expect("versions are numbers");
    assert_eq!(machine(&mut world, 0).look, Look::NotReady);
}

#[test]
fn only_this_run_can_say_that_a_machine_is_drained() {
    let mut world = world();
    let mut object = vm(2, "r", json!({ "ready": true }));
    object["metadata"]["annotations"] = json!({ "kvshoot.io/leaving": "earlier run" });
    put(&mut world, &object, 1);
    assert_eq!(machine(&mut world, 1).look, Look::Draining);
    world.drained("u".into());
    assert_eq!(machine(&mut world, 2).look, Look::Drained);
    object["metadata"]["resourceVersion"] = "3".into();
    object["metadata"]["deletionTimestamp"] = "1970-01-01T00:01:00Z".into();
    put(&mut world, &object, 3);
    assert_eq!(machine(&mut world, 3).look, Look::Deleting);
}

#[test]
fn what_belongs_to_an_earlier_record_is_told_apart() {
    let mut world = world();
    put(&mut world, &vm(2, "earlier", json!({})), 1);
    let facts = world.facts(seconds(1));
    assert!(facts.machines.is_empty());
    let key = Key::provider(Kind::Machine, "a-cpu-z1-12345-0");
    assert_eq!(facts.foreign[&key].uid, "u".into());
}

#[test]
fn two_looks_at_an_import_give_its_speed() {
    let mut world = world();
    let mut look = |version: u32, progress: &str, now: u64| {
        let object = json!({
            "metadata": {
                "name": "golden", "uid": "g", "resourceVersion": version.to_string(),
                "labels": { "kvshoot.io/shoot-uid": "r" },
            },
            "spec": { "storage": { "resources": { "requests": { "storage": "1000" } } } },
            "status": { "phase": "ImportInProgress", "progress": progress },
        });
        world
            .put((Side::Provider, Kind::Image), &object, seconds(now), None)
            .expect("versions are numbers");
        let facts = world.facts(seconds(now));
        match &facts.objects[&Key::provider(Kind::Image, "golden")].fact {
            Fact::Image(import) => (import.percent, import.speed),
            _ => (None, None),
        }
    };
    assert_eq!(look(2, "10.0%", 1), (Some(10.0), None));
    assert_eq!(look(3, "30.0%", 3), (Some(30.0), Some(100)));
    // The same again is no standstill: CDI tells it only now and then.
    assert_eq!(look(4, "30.0%", 4), (Some(30.0), Some(100)));
    assert_eq!(look(5, "5.0%", 9), (Some(5.0), None));
}

/// A machine of its name would start from it, and lose it when it goes.
#[test]
fn a_disk_haunts_the_name_of_a_machine_that_is_gone() {
    let disks = |owner: &str| -> Vec<String> {
        let mut world = world();
        put(&mut world, &vm(2, "r", json!({})), 0);
        let disk = json!({ "metadata": {
            "name": "a-cpu-z1-12345-0", "uid": "d", "resourceVersion": "3",
            "labels": {
                "app.kubernetes.io/component": "machine-volume",
                "kubevirt.io/vm": "a-cpu-z1-12345-0",
                "kvshoot.io/shoot-uid": "r",
            },
            "ownerReferences": [{ "uid": owner }],
        } });
        world
            .put((Side::Provider, Kind::Image), &disk, RUN, None)
            .expect("versions are numbers");
        let facts = world.facts(RUN);
        assert!(facts.objects.is_empty(), "{:?}", facts.objects);
        facts.disks.iter().map(ToString::to_string).collect()
    };
    assert!(disks("u").is_empty());
    assert_eq!(disks("earlier"), ["a-cpu-z1-12345-0"]);
}

#[test]
fn a_machine_is_to_leave_its_host_when_its_own_instance_says_so() {
    let mut world = world();
    let instance = |version: &str, owner: &str| {
        json!({
            "metadata": {
                "name": "a-cpu-z1-12345-0", "uid": "i", "resourceVersion": version,
                "ownerReferences": [{ "uid": owner }],
            },
            "spec": { "evictionStrategy": "External" },
            "status": { "evacuationNodeName": "host-1" },
        })
    };
    let instances = (Side::Provider, Kind::Instance);
    put(&mut world, &vm(2, "r", json!({ "ready": true })), 0);
    assert!(!machine(&mut world, 0).evacuating);
    let earlier = world.put(instances, &instance("3", "earlier"), RUN, None);
    earlier.expect("versions are numbers");
    assert!(!machine(&mut world, 1).evacuating);
    let own = world.put(instances, &instance("4", "u"), RUN, None);
    own.expect("versions are numbers");
    assert!(machine(&mut world, 2).evacuating);
    assert!(world.facts(seconds(3)).foreign.is_empty());
}
