use super::*;
use serde_json::json;

const RUN: Duration = Duration::ZERO;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn cache() -> Cache {
    let mut cache = Cache::new("a");
    let record = json!({ "metadata": { "name": "a", "uid": "r", "resourceVersion": "1" } });
    cache
        .list(
            (ClusterSide::Provider, ObjectKind::Record),
            "1",
            &[record],
            RUN,
            None,
        )
        .expect("the object is valid");
    cache
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

fn put(cache: &mut Cache, object: &Value, now: u64) {
    cache
        .put(
            (ClusterSide::Provider, ObjectKind::Machine),
            object,
            seconds(now),
            Some(60),
        )
        .expect("the object is valid");
}

/// Observes the machine's node with this readiness.
fn node(cache: &mut Cache, version: u32, ready: &str, taints: Value) {
    cache.static_facts.shoot_api = ShootApi::Reachable;
    let object = json!({
        "metadata": { "name": "a-cpu-z1-12345-0", "uid": "n", "resourceVersion": version.to_string() },
        "spec": { "providerID": "kubevirt://a-cpu-z1-12345-0", "taints": taints },
        "status": { "conditions": [
            { "type": "MemoryPressure", "status": "False", "message": "there is enough" },
            { "type": "Ready", "status": ready, "message": "the network is not ready" },
        ] },
    });
    cache
        .put((ClusterSide::Shoot, ObjectKind::Node), &object, RUN, None)
        .expect("the object is valid");
}

fn machine(cache: &mut Cache, now: u64) -> ObservedMachine {
    let facts = cache.facts(seconds(now));
    facts.machines["cpu"]["a-cpu-z1-12345-0"].clone()
}

#[test]
fn a_machine_that_was_ready_before_is_not_ready_instead_of_provisioning() {
    let mut cache = cache();
    node(&mut cache, 2, "True", json!([]));
    put(&mut cache, &vm(2, "r", json!({ "ready": false })), 1);
    assert_eq!(machine(&mut cache, 1).phase, MachinePhase::Provisioning);
    put(&mut cache, &vm(3, "r", json!({ "ready": true })), 5);
    assert_eq!(machine(&mut cache, 5).phase, MachinePhase::Ready);
    put(&mut cache, &vm(4, "r", json!({ "ready": false })), 8);
    let now = machine(&mut cache, 9);
    assert_eq!((now.phase, now.since), (MachinePhase::NotReady, seconds(9)));
    // An older event changes nothing, and neither does time alone.
    put(&mut cache, &vm(3, "r", json!({ "ready": true })), 10);
    let now = machine(&mut cache, 12);
    assert_eq!((now.phase, now.since), (MachinePhase::NotReady, seconds(9)));
}

/// Phase, whether the VM runs, and why it is not ready.
fn status(cache: &mut Cache) -> (MachinePhase, bool, Option<String>) {
    let it = machine(cache, 5);
    (it.phase, it.runs, it.cause.map(|it| it.to_string()))
}

fn coming(why: &str) -> (MachinePhase, bool, Option<String>) {
    (MachinePhase::Provisioning, true, Some(why.to_owned()))
}

#[test]
fn a_machine_is_ready_once_its_node_is() {
    let mut cache = cache();
    put(&mut cache, &vm(2, "r", json!({ "ready": true })), 1);
    cache.static_facts.shoot_api = ShootApi::Reachable;
    let joins = coming("VM running, waiting for node to register");
    assert_eq!(status(&mut cache), joins);
    node(&mut cache, 2, "False", json!([]));
    assert_eq!(status(&mut cache), coming("the network is not ready"));
    let taint = json!([{ "key": "node.cloudprovider.kubernetes.io/uninitialized" }]);
    node(&mut cache, 3, "True", taint);
    let known = coming("node not initialized by the cloud controller manager");
    assert_eq!(status(&mut cache), known);
    let taint = json!([{ "key": "node.kubernetes.io/not-ready", "effect": "NoExecute" }]);
    node(&mut cache, 4, "True", taint);
    let closed = coming("node has taint node.kubernetes.io/not-ready");
    assert_eq!(status(&mut cache), closed);
    node(&mut cache, 5, "True", json!([{ "key": "a.pool/wants-it" }]));
    assert_eq!(status(&mut cache), (MachinePhase::Ready, true, None));
    node(&mut cache, 6, "Unknown", json!([]));
    assert_eq!(status(&mut cache).0, MachinePhase::NotReady);
}

#[test]
fn a_machine_that_starts_with_another_address_than_its_node_has_is_readdressed() {
    let mut cache = cache();
    let mut readdressed = |uid: &str, address: &str, of_node: &str, now: u64| {
        let instance = json!({
            "metadata": {
                "name": "a-cpu-z1-12345-0", "uid": uid, "resourceVersion": now.to_string(),
                "ownerReferences": [{ "kind": "VirtualMachine", "name": "a-cpu-z1-12345-0", "uid": "u" }],
            },
            "status": { "phase": "Running", "interfaces": [{ "name": "default", "ipAddress": address }] },
        });
        let version = now.to_string();
        cache
            .list(INSTANCES, &version, &[instance], seconds(now), None)
            .expect("the object is valid");
        cache.static_facts.shoot_api = ShootApi::Reachable;
        let node = json!({
            "metadata": { "name": "a-cpu-z1-12345-0", "uid": "n", "resourceVersion": version },
            "status": { "addresses": [{ "type": "InternalIP", "address": of_node }] },
        });
        cache
            .put(
                (ClusterSide::Shoot, ObjectKind::Node),
                &node,
                seconds(now),
                None,
            )
            .expect("the object is valid");
        put(&mut cache, &vm(2, "r", json!({ "ready": true })), now);
        machine(&mut cache, now).placement.readdressed
    };
    // A difference that was there before is not waited for.
    assert_eq!(readdressed("one", "10.0.0.1", "10.0.0.9", 3), None);
    assert_eq!(readdressed("one", "10.0.0.1", "10.0.0.1", 4), None);
    assert_eq!(readdressed("two", "10.0.0.1", "10.0.0.1", 5), None);
    assert_eq!(
        readdressed("three", "10.0.0.2", "10.0.0.1", 6),
        Some(seconds(6))
    );
    assert_eq!(
        readdressed("three", "10.0.0.2", "10.0.0.2", 7),
        Some(seconds(6))
    );
}

/// A node that still exists is useless while its machine is down.
#[test]
fn a_ready_node_does_not_make_its_machine_ready() {
    let mut cache = cache();
    node(&mut cache, 2, "True", json!([]));
    put(&mut cache, &vm(2, "r", json!({ "ready": false })), 1);
    assert_eq!(status(&mut cache).0, MachinePhase::Provisioning);
}

/// Otherwise a machine would be removed because its node cannot be read.
#[test]
fn while_nodes_cannot_be_read_a_running_machine_counts_and_was_never_ready() {
    let mut cache = cache();
    put(&mut cache, &vm(2, "r", json!({ "ready": true })), 1);
    cache.static_facts.shoot_api = ShootApi::Unreachable("no response".into());
    assert_eq!(status(&mut cache), (MachinePhase::Ready, true, None));
    cache.static_facts.shoot_api = ShootApi::Reachable;
    assert_eq!(status(&mut cache).0, MachinePhase::Provisioning);
}

#[test]
fn nodes_have_their_status_and_owner() {
    let mut cache = cache();
    node(&mut cache, 2, "False", json!([{ "key": "b" }]));
    let facts = cache.facts(RUN);
    let found = &facts.nodes["a-cpu-z1-12345-0"];
    assert_eq!((found.serves, found.is_ours), (false, false));
    assert_eq!(&*found.why, "the network is not ready");
    assert_eq!(*found.taints, [json!({ "key": "b" })]);
}

#[test]
fn an_old_machine_counts_as_ready_once() {
    let mut cache = cache();
    let object = vm(2, "r", json!({ "ready": false }));
    cache
        .put(
            (ClusterSide::Provider, ObjectKind::Machine),
            &object,
            RUN,
            Some(ESTABLISHED_AGE + 1),
        )
        .expect("the object is valid");
    assert_eq!(machine(&mut cache, 0).phase, MachinePhase::NotReady);
}

#[test]
fn only_this_run_can_mark_a_machine_as_drained() {
    let mut cache = cache();
    let mut object = vm(2, "r", json!({ "ready": true }));
    object["metadata"]["annotations"] = json!({ "kvshoot.io/leaving": "earlier run" });
    put(&mut cache, &object, 1);
    assert_eq!(machine(&mut cache, 1).phase, MachinePhase::Draining);
    cache.set_drained("u".into());
    assert_eq!(machine(&mut cache, 2).phase, MachinePhase::Drained);
    object["metadata"]["resourceVersion"] = "3".into();
    object["metadata"]["deletionTimestamp"] = "1970-01-01T00:01:00Z".into();
    put(&mut cache, &object, 3);
    assert_eq!(machine(&mut cache, 3).phase, MachinePhase::Deleting);
}

#[test]
fn what_kept_a_machine_from_its_start_is_forgotten_when_it_starts() {
    let mut cache = cache();
    put(&mut cache, &vm(3, "r", json!({})), 0);
    let uid = machine(&mut cache, 0).uid;
    let before = status(&mut cache).2;
    cache.set_drain_status(uid.clone(), "the volume is being expanded".into());
    let waits = status(&mut cache).2;
    assert_eq!(waits.as_deref(), Some("the volume is being expanded"));
    cache.clear_drain_status(&uid);
    assert_eq!(status(&mut cache).2, before);
}

#[test]
fn objects_of_an_earlier_record_are_foreign() {
    let mut cache = cache();
    put(&mut cache, &vm(2, "earlier", json!({})), 1);
    let facts = cache.facts(seconds(1));
    assert!(facts.machines.is_empty());
    let key = ObjectKey::provider(ObjectKind::Machine, "a-cpu-z1-12345-0");
    assert_eq!(facts.foreign[&key].uid, "u".into());
}

#[test]
fn two_samples_of_an_import_give_its_speed() {
    let mut cache = cache();
    let mut import_at = |version: u32, progress: &str, now: u64| {
        let object = json!({
            "metadata": {
                "name": "golden", "uid": "g", "resourceVersion": version.to_string(),
                "labels": { "kvshoot.io/shoot-uid": "r" },
            },
            "spec": { "storage": { "resources": { "requests": { "storage": "1000" } } } },
            "status": { "phase": "ImportInProgress", "progress": progress },
        });
        cache
            .put(
                (ClusterSide::Provider, ObjectKind::ImageVolume),
                &object,
                seconds(now),
                None,
            )
            .expect("the object is valid");
        let facts = cache.facts(seconds(now));
        match &facts.objects[&ObjectKey::provider(ObjectKind::ImageVolume, "golden")].status {
            ObjectStatus::Image(import) => (import.percent, import.speed),
            _ => (None, None),
        }
    };
    assert_eq!(import_at(2, "10.0%", 1), (Some(10.0), None));
    assert_eq!(import_at(3, "30.0%", 3), (Some(30.0), Some(100)));
    // The same percentage again is not a standstill: CDI updates it only now and then.
    assert_eq!(import_at(4, "30.0%", 4), (Some(30.0), Some(100)));
    assert_eq!(import_at(5, "5.0%", 9), (Some(5.0), None));
}

/// A machine of that name would start from the disk, and lose it once it is deleted.
#[test]
fn a_disk_reserves_the_name_of_a_machine_that_is_gone() {
    let disks = |owner: &str| -> Vec<String> {
        let mut cache = cache();
        put(&mut cache, &vm(2, "r", json!({})), 0);
        let disk = json!({ "metadata": {
            "name": "a-cpu-z1-12345-0", "uid": "d", "resourceVersion": "3",
            "labels": {
                "app.kubernetes.io/component": "machine-volume",
                "kubevirt.io/vm": "a-cpu-z1-12345-0",
                "kvshoot.io/shoot-uid": "r",
            },
            "ownerReferences": [{ "kind": "VirtualMachine", "name": "a-cpu-z1-12345-0", "uid": owner }],
        } });
        cache
            .put(
                (ClusterSide::Provider, ObjectKind::ImageVolume),
                &disk,
                RUN,
                None,
            )
            .expect("the object is valid");
        let facts = cache.facts(RUN);
        assert!(facts.objects.is_empty(), "{:?}", facts.objects);
        facts
            .remaining_disks
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert!(disks("u").is_empty());
    assert_eq!(disks("earlier"), ["a-cpu-z1-12345-0"]);
}

#[test]
fn a_machine_is_evacuated_if_its_own_instance_requests_it() {
    let mut cache = cache();
    let instance = |version: &str, owner: &str| {
        json!({
            "metadata": {
                "name": "a-cpu-z1-12345-0", "uid": "i", "resourceVersion": version,
                "ownerReferences": [{ "kind": "VirtualMachine", "name": "a-cpu-z1-12345-0", "uid": owner }],
            },
            "spec": { "evictionStrategy": "External" },
            "status": { "nodeName": "host-1", "evacuationNodeName": "host-1" },
        })
    };
    let instances = (ClusterSide::Provider, ObjectKind::VirtualMachineInstance);
    put(&mut cache, &vm(2, "r", json!({ "ready": true })), 0);
    assert!(machine(&mut cache, 0).evacuation.is_none());
    let earlier = cache.put(instances, &instance("3", "earlier"), RUN, None);
    earlier.expect("the object is valid");
    assert!(machine(&mut cache, 1).evacuation.is_none());
    let own = cache.put(instances, &instance("4", "u"), RUN, None);
    own.expect("the object is valid");
    let replaced = Some(Evacuation::Replacement);
    assert_eq!(machine(&mut cache, 2).evacuation, replaced);
    assert!(cache.facts(seconds(3)).foreign.is_empty());

    let hosts = &mut cache.static_facts.uncordoned_hosts;
    hosts.insert("host-2".into());
    assert_eq!(machine(&mut cache, 2).evacuation, replaced);
    let hosts = &mut cache.static_facts.uncordoned_hosts;
    hosts.insert("host-1".into());
    let cancelled = Some(Evacuation::Cancellation);
    assert_eq!(machine(&mut cache, 2).evacuation, cancelled);
    cache.forbid_cancellations();
    assert_eq!(machine(&mut cache, 2).evacuation, replaced);
}

#[test]
fn a_failed_migration_counts_for_its_own_eviction_until_that_is_cancelled() {
    let mut cache = cache();
    let instances = (ClusterSide::Provider, ObjectKind::VirtualMachineInstance);
    let put_instance = |cache: &mut Cache, version: u32, host: &str, requested: &str| {
        let instance = json!({
            "metadata": {
                "name": "a-cpu-z1-12345-0", "uid": "i", "resourceVersion": version.to_string(),
                "ownerReferences": [{ "kind": "VirtualMachine", "name": "a-cpu-z1-12345-0", "uid": "u" }],
            },
            "spec": { "evictionStrategy": "External" },
            "status": { "nodeName": host, "evacuationNodeName": host, "conditions": [
                { "type": "EvictionRequested", "status": "True", "lastTransitionTime": requested },
                { "type": "LiveMigratable", "status": "True" },
            ] },
        });
        let stored = cache.put(instances, &instance, RUN, None);
        stored.expect("the object is valid");
    };
    let failed = |eviction: &str| {
        let mut machine = vm(2, "r", json!({ "ready": true }));
        machine["metadata"]["annotations"] = json!({
            "kvshoot.io/migration-failed": "2 failed", "kvshoot.io/failed-eviction": eviction,
        });
        machine
    };
    let replace = |cache: &mut Cache| machine(cache, 2).instance.replace;
    let why: Option<Arc<str>> = Some("2 failed".into());
    put(&mut cache, &failed("i host-1 60"), 0);
    assert_eq!(replace(&mut cache), None);
    put_instance(&mut cache, 3, "host-1", "1970-01-01T00:01:00Z");
    assert_eq!(replace(&mut cache), why);

    let hosts = &mut cache.static_facts.uncordoned_hosts;
    hosts.insert("host-1".into());
    assert_eq!(replace(&mut cache), None);
    cache.forbid_cancellations();
    assert_eq!(replace(&mut cache), why);

    put_instance(&mut cache, 4, "host-1", "1970-01-01T00:02:00Z");
    assert_eq!(replace(&mut cache), None);
    put_instance(&mut cache, 5, "host-2", "1970-01-01T00:01:00Z");
    assert_eq!(replace(&mut cache), None);
}

/// KubeVirt tries for ever. The time of the server is that of the run here.
#[test]
fn a_machine_that_kubevirt_cannot_migrate_in_time_is_evacuated() {
    let evacuated = |strategy: &str, host: &str, memory: &str, now: u64| {
        let mut cache = cache();
        put(&mut cache, &vm(2, "r", json!({ "ready": true })), 0);
        let instance = json!({
            "metadata": {
                "name": "a-cpu-z1-12345-0", "uid": "i", "resourceVersion": "3",
                "ownerReferences": [{ "kind": "VirtualMachine", "name": "a-cpu-z1-12345-0", "uid": "u" }],
            },
            "spec": {
                "evictionStrategy": strategy,
                "domain": { "resources": { "requests": { "memory": memory } } },
            },
            "status": {
                "evacuationNodeName": host,
                "conditions": [{
                    "type": "EvictionRequested", "status": "True",
                    "lastTransitionTime": "1970-01-01T00:01:40Z",
                }],
            },
        });
        let instances = (ClusterSide::Provider, ObjectKind::VirtualMachineInstance);
        let read = cache.put(instances, &instance, RUN, None);
        read.expect("the object is valid");
        machine(&mut cache, now).evacuation.is_some()
    };
    for (strategy, host, memory, now, expected) in [
        ("LiveMigrate", "host-1", "1Gi", 999, false),
        ("LiveMigrate", "host-1", "1Gi", 1_000, true),
        ("LiveMigrate", "host-1", "8Gi", 3_699, false),
        ("LiveMigrate", "host-1", "8Gi", 3_700, true),
        ("LiveMigrate", "", "1Gi", 9_999, false),
        ("External", "host-1", "1Gi", 0, true),
    ] {
        let found = evacuated(strategy, host, memory, now);
        assert_eq!(found, expected, "{strategy} {host} {memory} {now}");
    }
}

/// A node that takes `size` bytes as text.
fn large_node(name: &str, uid: &str, version: usize, size: usize) -> Value {
    let status = json!({ "conditions": [{ "type": "Ready", "status": "False", "message": "x".repeat(size) }] });
    let version = version.to_string();
    json!({ "metadata": { "name": name, "uid": uid, "resourceVersion": version }, "spec": {}, "status": status })
}

/// Feeds events of a watch until one is an error; returns the number of events before it.
fn events_until_error(
    event: impl Fn(&mut Cache, usize) -> Result<(), crate::cluster::Error>,
) -> Option<usize> {
    let mut cache = cache();
    let (number, error) = (1..200_000).find_map(|it| Some((it, event(&mut cache, it).err()?)))?;
    assert!(
        error.to_string().contains("more objects than fit"),
        "{error}"
    );
    Some(number - 1)
}

#[test]
fn a_watch_without_end_does_not_use_up_the_memory() {
    let nodes = (ClusterSide::Shoot, ObjectKind::Node);
    let name = |number: usize| format!("n{number}");
    let many = events_until_error(|cache, it| {
        cache.put(
            nodes,
            &large_node(&name(it), &name(it), it, 1 << 20),
            RUN,
            None,
        )
    });
    assert!(many.is_some_and(|it| (4..20).contains(&it)), "{many:?}");
    // Each event is that of a successor, whose predecessor is remembered.
    let successors = events_until_error(|cache, it| {
        cache.put(nodes, &large_node("a", &name(it), it, 1), RUN, None)
    });
    assert!(successors.is_some(), "{successors:?}");
    let deleted = events_until_error(|cache, it| {
        cache.remove(nodes, &large_node(&name(it), &name(it), it, 1))
    });
    assert!(deleted.is_some(), "{deleted:?}");
}

#[test]
fn objects_that_change_all_the_time_take_no_more_memory() {
    let mut cache = cache();
    let nodes = (ClusterSide::Shoot, ObjectKind::Node);
    let size = MAX_HELD / 3;
    for version in 2..10 {
        let node = large_node("a", "1", version, size + version);
        cache.put(nodes, &node, RUN, None).expect("it fits");
        let other = large_node("b", "2", version, size - version);
        cache
            .list(nodes, &version.to_string(), &[node, other], RUN, None)
            .expect("they fit");
    }
    for version in 10..20 {
        let node = large_node("a", "1", version, 10);
        cache.remove(nodes, &node).expect("it is known");
    }
    let names = "n".repeat(254);
    let error = cache
        .put(nodes, &large_node(&names, "3", 30, 1), RUN, None)
        .expect_err("a long name");
    assert!(error.to_string().contains("a name of more than"), "{error}");
}
