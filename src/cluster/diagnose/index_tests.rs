use super::*;
use crate::cluster::diagnose::cause_chain::Advice;
use crate::cluster::diagnose::machine::{Stuck, joining};
use crate::cluster::diagnose::pod;
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types::Body;
use crate::state::key::{Kind, Side};
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

fn classes() -> Classes {
    [(
        "slow".into(),
        StorageClass {
            zonal: false,
            offered: None,
        },
    )]
    .into()
}

/// As a wait for machine m-0 says it.
fn told(objects: Objects, stuck: Stuck) -> String {
    let chain = Around::new(objects).machine("m-0", &stuck, &classes());
    chain.map(|it| it.told("m-0")).unwrap_or_default()
}

fn check(volumes: Vec<Value>, pods: Vec<Value>, claims: Vec<Value>, events: Vec<Value>) -> String {
    let objects = Objects {
        volumes,
        pods,
        claims,
        events,
        ..Objects::default()
    };
    told(
        objects,
        vm(json!({}), json!({ "printableStatus": "Provisioning" })),
    )
}

fn vm(mut metadata: Value, status: Value) -> Stuck {
    metadata["name"] = "m-0".into();
    metadata["resourceVersion"] = "1".into();
    let object = json!({ "metadata": metadata, "status": status });
    let seen = object::seen((Side::Provider, Kind::Machine), &object).unwrap();
    let Body::Machine(vm) = seen.fact.body else {
        unreachable!("it is a machine");
    };
    Stuck::of(&vm)
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
        format!("VirtualMachine Provisioning <- Pod virt-launcher-m-0-abcde Pending: {words}")
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
        "VirtualMachine Provisioning <- DataVolume m-0-root Pending \
         <- PersistentVolumeClaim m-0-root Pending: storageclass \"fast\" not found"
    );
}

#[test]
fn a_volume_that_waits_for_the_machine_says_less_than_what_keeps_the_machine_from_having_a_pod() {
    let numbers =
        "requested: requests.cpu=205m, used: requests.cpu=720m, limited: requests.cpu=800m";
    let words = format!("pod is forbidden: exceeded quota: small, {numbers}");
    let said = words.replace("pod ", "pods \"virt-launcher-m-0-5k6vc\" ");
    let refused = json!([{ "type": "Synchronized", "status": "False", "reason": "FailedCreate", "message": said }]);
    let with = |phase: &str, conditions: &Value| {
        let mut waits = volume(phase);
        waits["status"]["conditions"] =
            json!([{ "type": "Bound", "status": "False", "message": "PVC m-0-root Pending" }]);
        let objects = Objects {
            instances: vec![json!({
                "metadata": { "name": "m-0" },
                "status": { "phase": "Pending", "conditions": conditions },
            })],
            volumes: vec![waits],
            ..Objects::default()
        };
        let status = json!({ "printableStatus": "WaitingForVolumeBinding" });
        told(objects, vm(json!({}), status))
    };
    let under = "VirtualMachine WaitingForVolumeBinding <- ";
    for phase in ["WaitForFirstConsumer", "PendingPopulation"] {
        assert_eq!(
            with(phase, &refused),
            format!("{under}VirtualMachineInstance Pending: {words}")
        );
        // Nothing else is known yet.
        assert_eq!(
            with(phase, &json!([])),
            format!("{under}DataVolume m-0-root {phase}: PVC m-0-root Pending")
        );
    }
    // That is filled now, and does not wait for a pod.
    assert_eq!(
        with("ImportInProgress", &refused),
        format!("{under}DataVolume m-0-root ImportInProgress: PVC m-0-root Pending")
    );
}

#[test]
fn what_keeps_a_pod_from_being_made_now_is_told_before_what_did_at_first() {
    let condition = json!({
        "type": "Synchronized", "status": "False", "reason": "FailedCreate", "message": "exceeded quota: q",
    });
    let with = |reason: &str, message: &str| {
        let objects = Objects {
            instances: vec![json!({
                "metadata": { "name": "m-0" },
                "status": { "phase": "Pending", "conditions": [condition] },
            })],
            events: vec![json!({
                "involvedObject": { "kind": "VirtualMachineInstance", "name": "m-0" },
                "lastTimestamp": "2026-11-22T15:34:59Z", "reason": reason, "message": message,
            })],
            ..Objects::default()
        };
        told(
            objects,
            vm(json!({}), json!({ "printableStatus": "Starting" })),
        )
    };
    let under = "VirtualMachine Starting <- VirtualMachineInstance Pending: ";
    let now = "(combined from similar events): Error creating pod: pods \"virt-launcher-m-0-5dqs7\" is forbidden: maximum memory usage per Container is 600Mi";
    assert_eq!(
        with("FailedCreate", now),
        format!(
            "{under}Error creating pod: pod is forbidden: maximum memory usage per Container is 600Mi"
        )
    );
    assert_eq!(
        with("SyncFailed", "something else"),
        format!("{under}exceeded quota: q")
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
        "VirtualMachine Provisioning <- DataVolume m-0-root ImportInProgress \
         <- Pod importer-prime-u1 CrashLoopBackOff: exit code 1: Unable to connect: 404 Not Found"
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
        format!("VirtualMachine Provisioning <- VirtualMachineInstance: {quota}")
    );
}

#[test]
fn a_warning_of_an_earlier_machine_or_before_its_node_is_none() {
    let event = json!({
        "involvedObject": { "kind": "VirtualMachineInstance", "name": "m-0" },
        "lastTimestamp": "2026-01-02T00:00:00Z",
        "message": "cannot reach the API server",
    });
    let is_told = |born: &str, has_node| {
        let objects = Objects {
            events: vec![event.clone()],
            ..Objects::default()
        };
        let stuck = vm(json!({ "creationTimestamp": born }), json!({}));
        let stuck = stuck.joining(has_node, None);
        !told(objects, stuck).is_empty()
    };
    assert!(is_told("2026-01-02T00:00:00Z", false));
    assert!(!is_told("2026-01-02T00:00:01Z", false));
    assert!(!is_told("2026-01-02T00:00:00Z", true));
}

fn workload(pods: Vec<Value>, events: Vec<Value>) -> String {
    let around = Around::new(Objects {
        pods,
        events,
        ..Objects::default()
    });
    let chain = around.workload("Deployment", "etcd", &classes(), |_| false);
    chain.map(|it| it.told("etcd")).unwrap_or_default()
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
        "Pod etcd-1-b CrashLoopBackOff: exit code 1: F 1] no certificate"
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
    assert_eq!(
        workload(vec![], vec![refused.clone()]),
        "ReplicaSet etcd-1: exceeded quota: q"
    );
    let waiting = json!({ "containerStatuses": [{ "state": { "waiting": { "reason": "ContainerCreating" } } }] });
    let pods = vec![replica("etcd-1-a", "etcd-1", waiting)];
    let mount = event("Pod", "etcd-1-a", "secret \"keys\" not found");
    assert_eq!(
        workload(pods, vec![refused, mount]),
        "Pod etcd-1-a: secret \"keys\" not found"
    );
}

#[test]
fn nothing_is_said_where_nothing_is_known() {
    let starting = json!({
        "phase": "Pending",
        "containerStatuses": [{ "ready": false, "state": { "waiting": { "reason": "ContainerCreating" } } }],
    });
    assert_eq!(check(vec![], vec![launcher(starting)], vec![], vec![]), "");
    assert_eq!(check(vec![volume("Pending")], vec![], vec![], vec![]), "");
}

/// The words of a machine that somebody deleted.
fn going_machine(pods: Vec<Value>, instance: Option<Value>) -> String {
    let metadata = json!({
        "deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["example.com/hold"],
    });
    let machine = vm(metadata, json!({ "printableStatus": "Running" }));
    let objects = Objects {
        instances: instance.into_iter().collect(),
        pods,
        ..Objects::default()
    };
    told(objects, machine)
}

fn instance(finalizers: Value) -> Value {
    json!({
        "metadata": {
            "name": "m-0", "deletionTimestamp": "2026-01-02T00:00:01Z", "finalizers": finalizers,
        },
        "status": { "phase": "Running" },
    })
}

#[test]
fn a_machine_that_does_not_go_is_told_by_who_holds_it() {
    assert_eq!(
        going_machine(vec![], None),
        "VirtualMachine Deleting: deleted at 2026-01-02T00:00:00Z, kept by example.com/hold"
    );
    let held = instance(json!(["foregroundDeleteVirtualMachine"]));
    assert_eq!(
        going_machine(vec![], Some(held.clone())),
        "VirtualMachine Deleting <- VirtualMachineInstance Deleting: \
         deleted at 2026-01-02T00:00:01Z, kept by foregroundDeleteVirtualMachine"
    );
    let mut pod = launcher(json!({ "phase": "Running" }));
    pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:02Z".into();
    assert_eq!(
        going_machine(vec![pod], Some(held)),
        "VirtualMachine Deleting <- VirtualMachineInstance Deleting \
         <- Pod virt-launcher-m-0-abcde Terminating: deleted at 2026-01-02T00:00:02Z"
    );
}

/// Its node says only that its kubelet is silent.
#[test]
fn an_instance_that_goes_or_is_over_is_deeper_than_its_node() {
    let words = |instance: Option<Value>, status: Value| {
        let objects = Objects {
            instances: instance.into_iter().collect(),
            ..Objects::default()
        };
        told(objects, vm(json!({}), status).joining(true, None))
    };
    let runs = json!({ "printableStatus": "Running", "ready": true });
    assert_eq!(
        words(Some(instance(json!([]))), runs.clone()),
        "VirtualMachineInstance Deleting: deleted at 2026-01-02T00:00:01Z"
    );
    let mut failed = instance(json!([]));
    failed["metadata"] = json!({ "name": "m-0" });
    failed["status"] = json!({ "phase": "Failed" });
    assert_eq!(
        words(Some(failed), runs.clone()),
        "VirtualMachineInstance Failed"
    );
    assert_eq!(words(None, runs), "VirtualMachineInstance: not found");
    let stopped = json!({ "printableStatus": "Stopped" });
    assert_eq!(words(None, stopped), "VirtualMachine Stopped");
}

#[test]
fn a_kubelet_without_a_certificate_is_told_by_its_request_or_its_token() {
    let request = |status: Value| {
        json!({
            "metadata": { "name": "csr-1" },
            "spec": { "username": "system:bootstrap:abcdef" },
            "status": status,
        })
    };
    let told = |requests: &[Value], has_token| {
        let token = "kube-system/bootstrap-token-abcdef";
        let chain = joining(requests, "system:bootstrap:abcdef", token, has_token);
        chain.map(|it| it.told("m-0")).unwrap_or_default()
    };
    let conditions =
        |kind: &str| json!({ "conditions": [{ "type": kind, "message": "not known" }] });
    for (status, expected) in [
        (
            json!({}),
            "CertificateSigningRequest csr-1 Pending: nobody has approved it",
        ),
        (
            conditions("Denied"),
            "CertificateSigningRequest csr-1 Denied: not known",
        ),
        (
            conditions("Approved"),
            "CertificateSigningRequest csr-1 Approved: it is not signed yet",
        ),
    ] {
        assert_eq!(told(&[request(status)], true), expected);
    }
    let issued = json!({ "conditions": [{ "type": "Approved" }], "certificate": "LS0t" });
    assert_eq!(told(&[request(issued)], true), "");
    assert_eq!(told(&[], true), "");
    assert_eq!(
        told(&[], false),
        "Secret kube-system/bootstrap-token-abcdef: not found"
    );
}

#[test]
fn a_pod_that_waits_for_a_volume_is_told_by_the_class_of_that() {
    let mut pod = replica("etcd-1-a", "etcd-1", json!({ "phase": "Pending" }));
    pod["spec"] = json!({ "volumes": [{ "persistentVolumeClaim": { "claimName": "m-0-root" } }] });
    let around = Around::new(Objects {
        pods: vec![pod],
        claims: vec![claim("Pending", "fast")],
        ..Objects::default()
    });
    let chain = around
        .workload("Deployment", "etcd", &classes(), |_| false)
        .unwrap();
    assert_eq!(
        chain.told("etcd"),
        "Pod etcd-1-a Pending <- PersistentVolumeClaim m-0-root Pending: storageclass \"fast\" not found"
    );
    assert_eq!(chain.advice, Some(Advice::Class));
    let lost = around.workload("Deployment", "etcd", &classes(), |_| true);
    assert_eq!(lost, None);
}

#[test]
fn the_last_lines_of_a_long_log_are_kept() {
    let said = format!("{}F 1] no certificate\n", "I 0] starting\n".repeat(20));
    let status = json!({
        "phase": "Running",
        "containerStatuses": [{
            "name": "etcd", "ready": false, "state": { "terminated": { "exitCode": 1, "message": said } },
        }],
    });
    let chain = pod::trouble(&replica("etcd-1-a", "etcd-1", status)).unwrap();
    assert_eq!(chain.log.len(), 5);
    assert_eq!(chain.log[4], "F 1] no certificate");
    let container = "etcd".into();
    assert_eq!(chain.advice, Some(Advice::Log { container }));
}

#[test]
fn an_image_of_a_container_that_is_not_there_is_told_by_its_pull() {
    let words = "Back-off pulling image \"registry.example/etcd:1\"";
    let status = json!({
        "phase": "Pending",
        "containerStatuses": [{
            "name": "etcd", "ready": false,
            "state": { "waiting": { "reason": "ImagePullBackOff", "message": words } },
        }],
    });
    let pods = vec![replica("etcd-1-a", "etcd-1", status)];
    assert_eq!(
        workload(pods, vec![]),
        format!("Pod etcd-1-a ImagePullBackOff: {words}")
    );
}
