use super::*;
use crate::cluster::json::serves;
use crate::state::record::{CLUSTER_IP, SIZES};
use serde_json::json;

fn check(kind: Kind, object: Value) -> Body {
    let mut object = object;
    object["metadata"]["resourceVersion"] = "7".into();
    seen((Side::Provider, kind), &object)
        .expect("its version is a number")
        .fact
        .body
}

fn import(status: Value) -> Volume {
    let object = json!({
        "spec": { "storage": { "resources": { "requests": { "storage": "10Gi" } } } },
        "status": status,
    });
    match check(Kind::Image, object) {
        Body::Volume(it) => it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_machine_is_read_from_its_labels_and_its_name() {
    let body = check(
        Kind::Machine,
        json!({
            "metadata": {
                "name": "shoot--local--a-cpu-z2-12345-7",
                "creationTimestamp": "1970-01-01T00:01:00Z",
                "labels": { "kvshoot.io/pool": "cpu", "kvshoot.io/zone-index": "2" },
                "annotations": { "kvshoot.io/pool-metadata": "{}", "kvshoot.io/leaving": "run" },
            },
            "spec": {
                "instancetype": { "kind": "VirtualMachineInstancetype", "name": "own" },
                "preference": { "kind": "VirtualMachineClusterPreference", "name": "shared" },
                "dataVolumeTemplates": [{ "spec": { "source": { "pvc": { "name": "golden" } } } }],
                "template": { "spec": { "networks": [
                    { "name": "default", "pod": {} },
                    { "name": "net1", "multus": { "networkName": "ns/blue" } },
                ] } },
            },
            "status": { "printableStatus": "ErrorUnschedulable", "ready": false, "conditions": [
                { "type": "Ready", "status": "False", "message": "Guest VM is not reported as running" },
                { "type": "PodScheduled", "status": "False", "message": "0/3 nodes are available" },
            ] },
        }),
    );
    let expected = Vm {
        pool: "cpu".into(),
        zone: 1,
        ordinal: 7,
        born: 60,
        ready: false,
        broken: false,
        marked: true,
        image: Some("golden".into()),
        networks: ["ns/blue".into()].into(),
        types: ["VirtualMachineInstancetype own".into()].into(),
        metadata: "{}".into(),
        status: "ErrorUnschedulable".into(),
        complaint: Some("0/3 nodes are available".into()),
        going: None,
    };
    assert_eq!(body, Body::Machine(Box::new(expected)));
}

#[test]
fn ready_is_what_kubevirt_says_or_running_where_it_does_not() {
    assert!(is_ready(
        &json!({ "status": { "printableStatus": "Running" } })
    ));
    assert!(!is_ready(
        &json!({ "status": { "printableStatus": "Running", "ready": false } })
    ));
    assert!(is_ready(&json!({ "status": { "ready": true } })));
    // As KubeVirt has it when the guest has just been started.
    let started = json!({ "status": {
        "printableStatus": "Running", "conditions": [{ "type": "Ready", "status": "False" }],
    } });
    assert!(!is_ready(&started));
    assert!(!is_ready(&json!({})));
}

#[test]
fn an_import_says_how_far_it_is_and_what_it_waits_for() {
    let volume = import(json!({
        "phase": "ImportInProgress",
        "progress": "43.10%",
        "conditions": [{ "type": "Running", "status": "True", "reason": "Pod", "message": "" }],
    }));
    assert_eq!((volume.percent, volume.size), (Some(43.1), Some(10 << 30)));
    assert_eq!((volume.waits, volume.failed), (None, None));
    let bound = json!([{ "type": "Bound", "status": "False", "message": "PVC a Pending" }]);
    let volume = import(json!({ "phase": "Pending", "progress": "N/A", "conditions": bound }));
    assert_eq!(volume.percent, None);
    assert_eq!(volume.waits.as_deref(), Some("PVC a Pending"));
}

#[test]
fn an_import_has_failed_after_its_third_restart() {
    let stumbling = |restarts: u64| {
        import(json!({
            "phase": "ImportInProgress",
            "restartCount": restarts,
            "conditions": [
                { "type": "Running", "status": "False", "reason": "Error", "message": "404 Not Found" },
            ],
        }))
    };
    assert_eq!(stumbling(2).failed, None);
    assert_eq!(stumbling(2).waits.as_deref(), Some("404 Not Found"));
    assert_eq!(stumbling(3).failed.as_deref(), Some("404 Not Found"));
}

#[test]
fn a_machine_whose_hash_was_lost_is_outdated_but_keeps_its_place_among_the_names() {
    let hash = |hash: Option<&str>| {
        let mut object = json!({ "metadata": {
            "name": "shoot--local--a-cpu-z2-12345-7", "resourceVersion": "7",
            "labels": { "app.kubernetes.io/part-of": "shoot--local--a" },
        } });
        object["metadata"]["annotations"]["kvshoot.io/spec-hash"] = hash.into();
        let seen = seen((Side::Provider, Kind::Machine), &object).expect("its version is a number");
        seen.fact.hash
    };
    let whole = hash(Some("1234567890abcdef"));
    assert_eq!(whole.to_string(), "1234567890abcdef");
    for lost in [None, Some("nonsense"), Some("fedcba0987654321")] {
        assert_ne!(hash(lost), whole, "{lost:?}");
        assert_eq!(hash(lost).short(), "12345", "{lost:?}");
    }
}

#[test]
fn the_record_holds_the_sizes() {
    let record =
        json!({ "data": { SIZES: "{\"cpu\":3}", CLUSTER_IP: "10.0.0.1", EXPIRY: "soon" } });
    let sizes = [("cpu".into(), 3)].into();
    let cluster_ip = Some("10.0.0.1".into());
    let expiry = Some("soon".into());
    let body = Body::Record {
        sizes,
        cluster_ip,
        expiry,
    };
    assert_eq!(check(Kind::Record, record), body);
    let body = Body::Record {
        sizes: BTreeMap::new(),
        cluster_ip: None,
        expiry: None,
    };
    assert_eq!(check(Kind::Record, json!({})), body);
}

#[test]
fn quantities_are_bytes() {
    assert_eq!(bytes("20Gi"), Some(20 << 30));
    assert_eq!(bytes("1.5Ki"), Some(1536));
    assert_eq!(bytes("5G"), Some(5_000_000_000));
    assert_eq!(bytes("1024"), Some(1024));
    assert_eq!(bytes("lots"), None);
}

#[test]
fn a_version_that_is_no_number_is_refused() {
    let object = json!({ "metadata": { "name": "a", "resourceVersion": "abc" } });
    let error = seen((Side::Provider, Kind::Machine), &object).expect_err("`abc` is no number");
    assert_eq!(
        error.to_string(),
        "list virtualmachines.kubevirt.io: resourceVersion `abc` is not a number, so this server cannot be worked with"
    );
}

#[test]
fn only_a_pod_that_serves_and_stays_is_an_end() {
    let pod = |ready: &str, deleted: Value| {
        json!({
            "metadata": { "deletionTimestamp": deleted },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] },
        })
    };
    assert!(serves(&pod("True", Value::Null)));
    assert!(!serves(&pod("False", Value::Null)));
    assert!(!serves(&pod("True", json!("2026-01-01T00:00:00Z"))));
    assert!(!serves(&json!({ "metadata": {} })));
}

#[test]
fn only_what_nobody_else_moves_is_to_leave_its_host() {
    let is_evacuating = |object: Value| match check(Kind::Instance, object) {
        Body::Instance(it) => it.evacuating,
        other => panic!("{other:?}"),
    };
    let instance = |strategy: Value, host: &str| {
        json!({
            "metadata": { "name": "a", "ownerReferences": [{ "uid": "u" }] },
            "spec": { "evictionStrategy": strategy },
            "status": { "evacuationNodeName": host },
        })
    };
    assert!(is_evacuating(instance(json!("External"), "host-1")));
    assert!(!is_evacuating(instance(json!("External"), "")));
    for other in ["LiveMigrate", "LiveMigrateIfPossible", "None"] {
        assert!(!is_evacuating(instance(json!(other), "host-1")), "{other}");
    }
    assert!(!is_evacuating(instance(Value::Null, "host-1")));
    assert!(!is_evacuating(json!({ "metadata": { "name": "a" } })));
    let mut leaving = instance(json!("External"), "host-1");
    leaving["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:01:00Z");
    assert!(!is_evacuating(leaving));
}
