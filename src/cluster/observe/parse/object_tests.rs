use super::*;
use crate::cluster::objects::testing::complete;
use crate::cluster::observe::parse::types::{ParsedMachine, ParsedVolume};
use crate::state::desired::PoolSize;
use crate::state::desired::machine_content::MachineContent;
use crate::state::facts::{Evacuation, MachineSleep};
use crate::state::record::hibernation::HibernationRecord;
use crate::state::record::rotation::RotationRecord;
use crate::state::record::{CLUSTER_IP, SIZES};
use serde_json::json;

fn check(kind: ObjectKind, object: Value) -> ParsedBody {
    parse((ClusterSide::Provider, kind), &complete(object))
        .expect("its fields are valid")
        .fact
        .body
}

fn import(status: Value) -> ParsedVolume {
    let object = json!({
        "spec": { "storage": { "resources": { "requests": { "storage": "10Gi" } } } },
        "status": status,
    });
    match check(ObjectKind::ImageVolume, object) {
        ParsedBody::Image(it) => it,
        other => panic!("{other:?}"),
    }
}

/// Its configuration is unknown, so it is replaced.
#[test]
fn a_machine_whose_hash_does_not_match_its_name_has_no_content() {
    let content = |hash: &str, disks: &str| {
        let object = json!({ "metadata": {
            "name": "shoot--local--a-cpu-z2-12345-7",
            "labels": { "app.kubernetes.io/part-of": "shoot--local--a" },
            "annotations": {
                "kvshoot.io/spec-hash": hash,
                "kvshoot.io/size-hash": "000000000000000a",
                "kvshoot.io/disk-sizes": disks,
                "kvshoot.io/fixed-hash": "000000000000000b",
            },
        } });
        match check(ObjectKind::Machine, object) {
            ParsedBody::Machine(it) => it.content,
            other => panic!("{other:?}"),
        }
    };
    let known = Some(MachineContent {
        size: Hash(10),
        disks: [1024, 5].into(),
        fixed: Hash(11),
        roots: None,
    });
    assert_eq!(content("1234567890abcdef", "1024,5"), known);
    assert_eq!(content("fedcba0987654321", "1024,5"), None);
    assert_eq!(content("none", "1024,5"), None);
    for disks in ["", "1024,", "1024, 5", "1Ki", "-1"] {
        assert_eq!(content("1234567890abcdef", disks), None, "{disks}");
    }
}

#[test]
fn a_machine_is_parsed_from_its_labels_and_name() {
    let body = check(
        ObjectKind::Machine,
        json!({
            "metadata": {
                "name": "shoot--local--a-cpu-z2-12345-7",
                "creationTimestamp": "1970-01-01T00:01:00Z",
                "labels": { "kvshoot.io/pool": "cpu", "kvshoot.io/zone-index": "2" },
                "annotations": { "kvshoot.io/pool-metadata": "{}", "kvshoot.io/leaving": "run", "kvshoot.io/zone": "b" },
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
    let expected = ParsedMachine {
        pool: "cpu".into(),
        zone: 1,
        zone_name: "b".into(),
        ordinal: 7,
        created: 60,
        ready: false,
        broken: false,
        drain_requested: true,
        sleep: MachineSleep::Awake,
        halted_at: None,
        content: None,
        restart: None,
        replace: None,
        migration_failure: None,
        image: Some("golden".into()),
        networks: ["ns/blue".into()].into(),
        types: ["VirtualMachineInstancetype own".into()].into(),
        metadata: "{}".into(),
        status: "ErrorUnschedulable".into(),
        failure_message: Some("0/3 nodes are available".into()),
        deletion: None,
    };
    assert_eq!(body, ParsedBody::Machine(Box::new(expected)));
}

#[test]
fn an_import_has_progress_and_a_reason_for_waiting() {
    let volume = import(json!({
        "phase": "ImportInProgress",
        "progress": "43.10%",
        "conditions": [{ "type": "Running", "status": "True", "reason": "Pod", "message": "" }],
    }));
    assert_eq!(
        (volume.percent, volume.volume.size),
        (Some(43.1), Some(10 << 30))
    );
    assert_eq!((volume.waiting_reason, volume.failed), (None, None));
    let bound = json!([{ "type": "Bound", "status": "False", "message": "PVC a Pending" }]);
    let volume = import(json!({ "phase": "Pending", "progress": "N/A", "conditions": bound }));
    assert_eq!(volume.percent, None);
    assert_eq!(volume.waiting_reason.as_deref(), Some("PVC a Pending"));
}

#[test]
fn an_import_fails_after_its_third_restart() {
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
    assert_eq!(
        stumbling(2).waiting_reason.as_deref(),
        Some("404 Not Found")
    );
    assert_eq!(stumbling(3).failed.as_deref(), Some("404 Not Found"));
}

#[test]
fn a_machine_without_a_hash_is_outdated_but_keeps_its_name() {
    let hash = |hash: Option<&str>| {
        let mut object = json!({ "metadata": {
            "name": "shoot--local--a-cpu-z2-12345-7", "resourceVersion": "7",
            "labels": { "app.kubernetes.io/part-of": "shoot--local--a" },
        } });
        object["metadata"]["annotations"]["kvshoot.io/spec-hash"] = hash.into();
        let parsed = parse(
            (ClusterSide::Provider, ObjectKind::Machine),
            &complete(object),
        )
        .expect("its fields are valid");
        parsed.fact.hash
    };
    let whole = hash(Some("1234567890abcdef"));
    assert_eq!(whole.to_string(), "1234567890abcdef");
    for lost in [None, Some("nonsense"), Some("fedcba0987654321")] {
        assert_ne!(hash(lost), whole, "{lost:?}");
        assert_eq!(hash(lost).short(), "12345", "{lost:?}");
    }
}

#[test]
fn the_record_has_the_pool_sizes() {
    let record =
        json!({ "data": { SIZES: "{\"cpu\":3}", CLUSTER_IP: "10.0.0.1", EXPIRY: "soon" } });
    let sizes = [("cpu".into(), PoolSize::Total(3))].into();
    let cluster_ip = Some("10.0.0.1".into());
    let expiry = Some("soon".into());
    let body = ParsedBody::Record {
        sizes,
        cluster_ip,
        expiry,
        etcd: None,
        rotation: RotationRecord::default(),
        hibernation: HibernationRecord::default(),
        operation: None,
        repairs: [].into(),
        last_backup: None,
    };
    assert_eq!(check(ObjectKind::Record, record), body);
    let body = ParsedBody::Record {
        sizes: [].into(),
        cluster_ip: None,
        expiry: None,
        etcd: None,
        rotation: RotationRecord::default(),
        hibernation: HibernationRecord::default(),
        operation: None,
        repairs: [].into(),
        last_backup: None,
    };
    assert_eq!(check(ObjectKind::Record, json!({})), body);
}

#[test]
fn a_version_that_is_not_a_number_is_rejected() {
    let object = json!({ "metadata": { "name": "a", "uid": "u", "resourceVersion": "abc" } });
    let error = parse((ClusterSide::Provider, ObjectKind::Machine), &object)
        .expect_err("`abc` is not a number");
    assert_eq!(
        error.to_string(),
        "list virtualmachines.kubevirt.io: resourceVersion `abc` is not a number; this server is not supported"
    );
}

#[test]
fn only_machines_with_external_eviction_are_evacuated_at_once() {
    let evacuation = |object: Value| match check(ObjectKind::VirtualMachineInstance, object) {
        ParsedBody::Instance(it) => it.evacuation,
        other => panic!("{other:?}"),
    };
    let instance = |strategy: Value, host: &str| {
        json!({
            "metadata": { "name": "a", "ownerReferences": [{ "kind": "VirtualMachine", "name": "a", "uid": "u" }] },
            "spec": { "evictionStrategy": strategy },
            "status": { "evacuationNodeName": host },
        })
    };
    let external = instance(json!("External"), "host-1");
    assert_eq!(
        evacuation(external.clone()),
        Some((Evacuation::Replacement, 0))
    );
    let with_migratable = |status: &str| {
        let mut instance = external.clone();
        let condition = json!({ "type": "LiveMigratable", "status": status });
        instance["status"]["conditions"] = json!([condition]);
        evacuation(instance)
    };
    let replaced = Some((Evacuation::Replacement, 0));
    assert_eq!(with_migratable("False"), replaced);
    assert_eq!(with_migratable("True"), Some((Evacuation::Migration, 0)));
    assert_eq!(evacuation(instance(json!("External"), "")), None);
    for other in ["LiveMigrate", "LiveMigrateIfPossible", "None"] {
        assert_eq!(
            evacuation(instance(json!(other), "host-1")),
            None,
            "{other}"
        );
    }
    assert_eq!(evacuation(instance(Value::Null, "host-1")), None);
    assert_eq!(evacuation(json!({ "metadata": { "name": "a" } })), None);
    let mut deleting = external.clone();
    deleting["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:01:00Z");
    assert_eq!(evacuation(deleting), None);
}
