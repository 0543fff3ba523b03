use super::*;
use serde_json::json;

fn volume(phase: &str) -> Value {
    json!({
        "metadata": { "name": "m-0-root", "ownerReferences": [{ "kind": "VirtualMachine", "name": "m-0" }] },
        "status": { "phase": phase, "claimName": "m-0-root" },
    })
}

fn claim(phase: &str, class: &str) -> Value {
    json!({
        "metadata": { "name": "m-0-root", "uid": "u1" },
        "spec": { "storageClassName": class },
        "status": { "phase": phase },
    })
}

fn launcher(status: Value) -> Value {
    json!({
        "metadata": {
            "name": "virt-launcher-m-0-abcde",
            "ownerReferences": [{ "kind": "VirtualMachineInstance", "name": "m-0" }],
        },
        "status": status,
    })
}

fn check(volumes: Vec<Value>, pods: Vec<Value>, claims: Vec<Value>, events: Vec<Value>) -> String {
    let classes = [("slow".into(), StorageClass { zonal: false })].into();
    let around = Around::new(volumes, pods, claims, events);
    around
        .machine("m-0", &Stuck::default(), &classes)
        .unwrap_or_default()
}

#[test]
fn the_scheduler_speaks_through_the_pod() {
    let words = "0/14 nodes are available: 3 node(s) had untolerated taint.";
    let status = json!({
        "phase": "Pending",
        "conditions": [{ "type": "PodScheduled", "status": "False", "message": words }],
    });
    assert_eq!(
        check(
            vec![volume("Succeeded")],
            vec![launcher(status)],
            vec![],
            vec![]
        ),
        format!("virt-launcher pod virt-launcher-m-0-abcde Pending: {words}")
    );
}

#[test]
fn a_class_that_is_not_there_is_deeper_than_a_pod() {
    let status = json!({
        "phase": "Pending",
        "conditions": [{ "type": "PodScheduled", "status": "False", "message": "unbound claims" }],
    });
    assert_eq!(
        check(
            vec![volume("Pending")],
            vec![launcher(status)],
            vec![claim("Pending", "fast")],
            vec![]
        ),
        "PVC m-0-root Pending: storageclass \"fast\" not found"
    );
}

#[test]
fn an_importer_speaks_in_its_own_words() {
    let importer = json!({
        "metadata": {
            "name": "importer-prime-u1",
            "ownerReferences": [{ "kind": "PersistentVolumeClaim", "name": "prime-u1" }],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [{
                "ready": false,
                "state": { "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s" } },
                "lastState": { "terminated": { "exitCode": 1, "message": "Unable to connect:\n 404 Not Found" } },
            }],
        },
    });
    assert_eq!(
        check(
            vec![volume("ImportInProgress")],
            vec![importer],
            vec![claim("Bound", "slow")],
            vec![]
        ),
        "DataVolume m-0-root ImportInProgress <- importer pod importer-prime-u1 Running: \
         Unable to connect: 404 Not Found"
    );
}

#[test]
fn the_newest_warning_is_told_with_its_quota() {
    let event = |time: &str, message: &str| {
        json!({
            "involvedObject": { "kind": "VirtualMachineInstance", "name": "m-0" },
            "lastTimestamp": time,
            "message": message,
        })
    };
    let quota = "exceeded quota: q, requested: cpu=4, used: cpu=8, limited: cpu=10";
    assert_eq!(
        check(
            vec![],
            vec![],
            vec![],
            vec![
                event("2026-01-02T00:00:00Z", quota),
                event("2026-01-01T00:00:00Z", "old")
            ]
        ),
        format!("VirtualMachineInstance m-0: {quota}")
    );
}

#[test]
fn a_warning_of_an_earlier_machine_or_before_its_node_is_none() {
    let event = json!({
        "involvedObject": { "kind": "VirtualMachineInstance", "name": "m-0" },
        "lastTimestamp": "2026-01-02T00:00:00Z",
        "message": "cannot reach the API server",
    });
    let around = Around::new(vec![], vec![], vec![], vec![event]);
    // 2026-01-02T00:00:00Z
    let time = 1_767_312_000;
    let told = |born, has_node| {
        let machine = Stuck {
            complaint: None,
            born,
            has_node,
        };
        let told = around.machine("m-0", &machine, &BTreeMap::new());
        told.is_some()
    };
    assert!(told(time, false));
    assert!(!told(time + 1, false));
    assert!(!told(time, true));
}

fn workload(pods: Vec<Value>, events: Vec<Value>) -> String {
    let around = Around::new(vec![], pods, vec![], events);
    around.workload("Deployment", "etcd").unwrap_or_default()
}

fn replica(name: &str, owner: &str, status: Value) -> Value {
    json!({
        "metadata": { "name": name, "ownerReferences": [{ "kind": "ReplicaSet", "name": owner }] },
        "status": status,
    })
}

#[test]
fn a_workload_speaks_through_the_last_line_of_a_pod_that_crashed() {
    let log = format!("{}F 1] no certificate\n", "I 0] starting\n".repeat(20));
    let ended = json!({ "exitCode": 1, "message": log });
    let crashed = json!({
        "phase": "Running",
        "containerStatuses": [{
            "ready": false,
            "state": { "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s" } },
            "lastState": { "terminated": ended },
        }],
    });
    let serving = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
    let pods = vec![
        replica("etcd-1-a", "etcd-1", serving),
        replica("etcd-1-b", "etcd-1", crashed.clone()),
    ];
    assert_eq!(
        workload(pods, vec![]),
        "pod etcd-1-b Running: F 1] no certificate"
    );
    let of_another = replica("etcd-main-1-a", "etcd-main-1", crashed);
    assert_eq!(workload(vec![of_another], vec![]), "");
}

#[test]
fn a_workload_without_pods_speaks_through_what_should_make_them() {
    let event = |kind: &str, name: &str, message: &str| {
        json!({
            "involvedObject": { "kind": kind, "name": name },
            "lastTimestamp": "2026-01-02T00:00:00Z",
            "message": message,
        })
    };
    let refused = event("ReplicaSet", "etcd-1", "exceeded quota: q");
    assert_eq!(workload(vec![], vec![refused.clone()]), "exceeded quota: q");
    let waiting = json!({ "containerStatuses": [{ "state": { "waiting": { "reason": "ContainerCreating" } } }] });
    let pods = vec![replica("etcd-1-a", "etcd-1", waiting)];
    let mount = event("Pod", "etcd-1-a", "secret \"keys\" not found");
    assert_eq!(
        workload(pods, vec![refused, mount]),
        "pod etcd-1-a: secret \"keys\" not found"
    );
}

#[test]
fn nothing_is_said_where_nothing_is_known() {
    let starting = json!({
        "phase": "Pending",
        "containerStatuses": [{ "ready": false, "state": { "waiting": { "reason": "ContainerCreating" } } }],
    });
    assert_eq!(check(vec![], vec![launcher(starting)], vec![], vec![]), "");
}
