use super::*;
use crate::cluster::diagnose::machine::{PendingMachine, joining};
use crate::cluster::diagnose::{cause_chain::Advice, pod};
use crate::cluster::objects::signing_request::PartialSigningRequest;
use crate::cluster::objects::testing::{complete, object};
use crate::cluster::observe::parse::{object::parse, types::ParsedBody};
use crate::state::facts::certificate_judgment::Verdict;
use crate::state::key::{ClusterSide, ObjectKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn volume(phase: &str) -> Value {
    json!({
        "metadata": { "name": "m-0-root", "ownerReferences": [{ "kind": "VirtualMachine", "name": "m-0", "uid": "u" }] },
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
            "ownerReferences": [{ "kind": "VirtualMachineInstance", "name": "m-0", "uid": "u" }],
        },
        "status": status,
    })
}

fn objects<T: DeserializeOwned>(all: Vec<Value>) -> Vec<T> {
    all.into_iter().map(object).collect()
}

fn classes() -> StorageClasses {
    [(
        "slow".into(),
        StorageClass {
            zonal: false,
            expandable: true,
            offered: None,
        },
    )]
    .into()
}

/// Cause of machine m-0, as a waiting run shows it.
fn describe(objects: ListedObjects, pending: PendingMachine) -> String {
    let chain = CauseIndex::new(objects).machine_chain("m-0", &pending, &classes());
    chain.map(|it| it.describe("m-0")).unwrap_or_default()
}

fn check(volumes: Vec<Value>, pods: Vec<Value>, claims: Vec<Value>, events: Vec<Value>) -> String {
    let objects = ListedObjects {
        volumes: objects(volumes),
        pods: objects(pods),
        claims: objects(claims),
        events: objects(events),
        ..ListedObjects::default()
    };
    describe(
        objects,
        vm(json!({}), json!({ "printableStatus": "Provisioning" })),
    )
}

fn vm(mut metadata: Value, status: Value) -> PendingMachine {
    metadata["name"] = "m-0".into();
    metadata["resourceVersion"] = "1".into();
    let object = complete(json!({ "metadata": metadata, "status": status }));
    let parsed = parse((ClusterSide::Provider, ObjectKind::Machine), &object).unwrap();
    let ParsedBody::Machine(vm) = parsed.fact.body else {
        unreachable!("it is a machine");
    };
    PendingMachine::of(&vm)
}

#[test]
fn the_scheduler_s_message_is_reported_by_the_pod() {
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
fn a_missing_storage_class_is_deeper_than_a_pod() {
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
fn a_volume_that_waits_for_the_machine_is_less_relevant_than_the_reason_for_the_missing_pod() {
    let numbers =
        "requested: requests.cpu=205m, used: requests.cpu=720m, limited: requests.cpu=800m";
    let words = format!("pod is forbidden: exceeded quota: small, {numbers}");
    let words_with_name = words.replace("pod ", "pods \"virt-launcher-m-0-5k6vc\" ");
    let refused = json!([{ "type": "Synchronized", "status": "False", "reason": "FailedCreate", "message": words_with_name }]);
    let with = |phase: &str, conditions: &Value| {
        let mut waits = volume(phase);
        waits["status"]["conditions"] =
            json!([{ "type": "Bound", "status": "False", "message": "PVC m-0-root Pending" }]);
        let objects = ListedObjects {
            instances: vec![object(json!({
                "metadata": { "name": "m-0" },
                "status": { "phase": "Pending", "conditions": conditions },
            }))],
            volumes: vec![object(waits)],
            ..ListedObjects::default()
        };
        let status = json!({ "printableStatus": "WaitingForVolumeBinding" });
        describe(objects, vm(json!({}), status))
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
    // The volume is being filled and no longer waits for a pod.
    assert_eq!(
        with("ImportInProgress", &refused),
        format!("{under}DataVolume m-0-root ImportInProgress: PVC m-0-root Pending")
    );
}

#[test]
fn the_latest_reason_for_a_missing_pod_wins_over_the_first() {
    let condition = json!({
        "type": "Synchronized", "status": "False", "reason": "FailedCreate", "message": "exceeded quota: q",
    });
    let with = |reason: &str, message: &str| {
        let objects = ListedObjects {
            instances: vec![object(json!({
                "metadata": { "name": "m-0" },
                "status": { "phase": "Pending", "conditions": [condition] },
            }))],
            events: vec![object(json!({
                "involvedObject": { "kind": "VirtualMachineInstance", "name": "m-0" },
                "lastTimestamp": "2026-11-22T15:34:59Z", "reason": reason, "message": message,
            }))],
            ..ListedObjects::default()
        };
        describe(
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
fn an_importer_reports_its_own_message() {
    let importer = json!({
        "metadata": {
            "name": "importer-prime-u1",
            "ownerReferences": [{ "kind": "PersistentVolumeClaim", "name": "prime-u1", "uid": "u" }],
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
fn the_latest_warning_is_shown_with_its_quota() {
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
fn warnings_of_an_earlier_machine_or_from_before_its_node_are_ignored() {
    let event = json!({
        "involvedObject": { "kind": "VirtualMachineInstance", "name": "m-0" },
        "lastTimestamp": "2026-01-02T00:00:00Z",
        "message": "cannot reach the API server",
    });
    let is_told = |born: &str, has_node| {
        let objects = ListedObjects {
            events: vec![object(event.clone())],
            ..ListedObjects::default()
        };
        let pending = vm(json!({ "creationTimestamp": born }), json!({}));
        let pending = pending.joining(has_node, None);
        !describe(objects, pending).is_empty()
    };
    assert!(is_told("2026-01-02T00:00:00Z", false));
    assert!(!is_told("2026-01-02T00:00:01Z", false));
    assert!(!is_told("2026-01-02T00:00:00Z", true));
}

fn workload(pods: Vec<Value>, events: Vec<Value>) -> String {
    let around = CauseIndex::new(ListedObjects {
        pods: objects(pods),
        events: objects(events),
        ..ListedObjects::default()
    });
    let chain = around.workload_chain("Deployment", "etcd", &classes(), |_| false);
    chain.map(|it| it.describe("etcd")).unwrap_or_default()
}

fn replica(name: &str, owner: &str, status: Value) -> Value {
    json!({
        "metadata": { "name": name, "ownerReferences": [{ "kind": "ReplicaSet", "name": owner, "uid": "u" }] },
        "status": status,
    })
}

#[test]
fn a_workload_reports_the_last_line_of_a_crashed_pod() {
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
fn a_workload_without_pods_reports_its_controller_s_warning() {
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
fn unknown_causes_are_not_reported() {
    let starting = json!({
        "phase": "Pending",
        "containerStatuses": [{ "ready": false, "state": { "waiting": { "reason": "ContainerCreating" } } }],
    });
    assert_eq!(check(vec![], vec![launcher(starting)], vec![], vec![]), "");
    assert_eq!(check(vec![volume("Pending")], vec![], vec![], vec![]), "");
}

/// Description of a machine that is being deleted.
fn going_machine(pods: Vec<Value>, instance: Option<Value>) -> String {
    let metadata = json!({
        "deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["example.com/hold"],
    });
    let machine = vm(metadata, json!({ "printableStatus": "Running" }));
    let objects = ListedObjects {
        instances: instance.into_iter().map(object).collect(),
        pods: objects(pods),
        ..ListedObjects::default()
    };
    describe(objects, machine)
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
fn a_machine_stuck_in_deletion_reports_its_finalizers() {
    assert_eq!(
        going_machine(vec![], None),
        "VirtualMachine Deleting: deleted at 2026-01-02T00:00:00Z, held by finalizer example.com/hold"
    );
    let held = instance(json!(["foregroundDeleteVirtualMachine"]));
    assert_eq!(
        going_machine(vec![], Some(held.clone())),
        "VirtualMachine Deleting <- VirtualMachineInstance Deleting: \
         deleted at 2026-01-02T00:00:01Z, held by finalizer foregroundDeleteVirtualMachine"
    );
    let mut pod = launcher(json!({ "phase": "Running" }));
    pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:02Z".into();
    assert_eq!(
        going_machine(vec![pod], Some(held)),
        "VirtualMachine Deleting <- VirtualMachineInstance Deleting \
         <- Pod virt-launcher-m-0-abcde Terminating: deleted at 2026-01-02T00:00:02Z"
    );
}

/// Its node only reports that the kubelet is silent.
#[test]
fn an_instance_that_is_deleted_or_finished_is_deeper_than_its_node() {
    let words = |instance: Option<Value>, status: Value| {
        let objects = ListedObjects {
            instances: instance.into_iter().map(object).collect(),
            ..ListedObjects::default()
        };
        describe(objects, vm(json!({}), status).joining(true, None))
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
fn a_kubelet_without_certificate_reports_its_signing_request_or_token() {
    let request = |status: Value| {
        object(json!({
            "metadata": { "name": "csr-1" },
            "spec": { "username": "system:bootstrap:abcdef" },
            "status": status,
        }))
    };
    let describe = |requests: &[PartialSigningRequest], has_token| {
        let token = "kube-system/bootstrap-token-abcdef";
        let chain = joining(
            requests,
            "system:bootstrap:abcdef",
            token,
            has_token,
            |_| Some(Verdict::Wait("the VM is not running".into())),
        );
        chain.map(|it| it.describe("m-0")).unwrap_or_default()
    };
    let conditions =
        |kind: &str| json!({ "conditions": [{ "type": kind, "message": "not known" }] });
    for (status, expected) in [
        (
            json!({}),
            "CertificateSigningRequest csr-1 Pending: the VM is not running",
        ),
        (
            conditions("Denied"),
            "CertificateSigningRequest csr-1 Denied: not known",
        ),
        (
            conditions("Approved"),
            "CertificateSigningRequest csr-1 Approved: not signed yet",
        ),
    ] {
        assert_eq!(describe(&[request(status)], true), expected);
    }
    let issued = json!({ "conditions": [{ "type": "Approved" }], "certificate": "LS0t" });
    assert_eq!(describe(&[request(issued)], true), "");
    assert_eq!(describe(&[], true), "");
    assert_eq!(
        describe(&[], false),
        "Secret kube-system/bootstrap-token-abcdef: not found"
    );
}

#[test]
fn a_pod_waiting_for_a_volume_reports_its_storage_class() {
    let mut pod = replica("etcd-1-a", "etcd-1", json!({ "phase": "Pending" }));
    pod["spec"] = json!({ "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "m-0-root" } }] });
    let around = CauseIndex::new(ListedObjects {
        pods: vec![object(pod)],
        claims: vec![object(claim("Pending", "fast"))],
        ..ListedObjects::default()
    });
    let chain = around
        .workload_chain("Deployment", "etcd", &classes(), |_| false)
        .unwrap();
    assert_eq!(
        chain.describe("etcd"),
        "Pod etcd-1-a Pending <- PersistentVolumeClaim m-0-root Pending: storageclass \"fast\" not found"
    );
    assert_eq!(chain.advice, Some(Advice::Class));
    let lost = around.workload_chain("Deployment", "etcd", &classes(), |_| true);
    assert_eq!(lost, None);
}

#[test]
fn the_last_lines_of_a_long_log_are_kept() {
    let words_with_name = format!("{}F 1] no certificate\n", "I 0] starting\n".repeat(20));
    let status = json!({
        "phase": "Running",
        "containerStatuses": [{
            "name": "etcd", "ready": false, "state": { "terminated": { "exitCode": 1, "message": words_with_name } },
        }],
    });
    let chain = pod::pod_chain(&object(replica("etcd-1-a", "etcd-1", status))).unwrap();
    assert_eq!(chain.log.len(), 5);
    assert_eq!(chain.log[4], "F 1] no certificate");
    let container = "etcd".into();
    assert_eq!(chain.advice, Some(Advice::Log { container }));
}

#[test]
fn a_missing_container_image_is_reported_by_its_pull() {
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
