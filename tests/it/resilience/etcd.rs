//! Members of etcd join and leave while clients write, and lost data are reported.

use crate::support::etcd_api::EtcdApi;
use crate::support::provider::{CLAIM, CONFIG_MAP, POD, Provider, STATEFUL_SET};
use crate::support::shoot_api::ShootApi;
use crate::support::shoot_api::writer::{lost_or_reordered, write_during};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) fn manifest(name: &str, tolerance: &str) -> Manifest {
    Manifest::small(name).with(|it| {
        let given = &mut it.shoot["spec"]["controlPlane"]["highAvailability"];
        given["failureTolerance"]["type"] = json!(tolerance);
    })
}

fn sized(manifest: Manifest, size: &str) -> Manifest {
    manifest.control_plane(json!({ "etcd": { "size": size } }))
}

/// Takes the pod of a member away, with its volume.
pub(super) fn lose_member(provider: &Provider, pod: &str) {
    let old = provider.get(POD, pod).unwrap().metadata.uid;
    provider.delete(CLAIM, &format!("data-{pod}"));
    provider.delete(POD, pod);
    provider.wait_for("a new pod without data to end", |it| {
        it.get(POD, pod).is_some_and(|new| {
            let status = &new.data["status"]["containerStatuses"][0];
            new.metadata.uid != old && status["restartCount"].as_u64() > Some(0)
        })
    });
}

fn start_of(provider: &Provider, id: &str) -> String {
    let set = provider.get(STATEFUL_SET, &format!("{id}-etcd")).unwrap();
    let container = &set.data["spec"]["template"]["spec"]["containers"][0];
    let command = container["command"].as_array().unwrap();
    let mut flags = command.iter().filter_map(Value::as_str);
    let start = flags.find_map(|it| it.strip_prefix("--initial-cluster-state="));
    start.unwrap().to_owned()
}

#[test]
fn a_cluster_that_lost_its_data_is_told_and_never_founded_again() {
    let provider = Provider::new();
    let manifest = manifest("lost", "none");
    provider.assert_applied(&manifest, "created");
    assert_eq!(start_of(&provider, &manifest.id()), "existing");
    provider.assert_unchanged(&manifest);
    let pod = format!("{}-etcd-0", manifest.id());
    lose_member(&provider, &pod);
    let kept = || -> Vec<(String, String)> {
        let contents = provider.contents().into_iter();
        let is_kept = |it: &(String, String)| {
            [
                "ConfigMap",
                "Secret",
                "StatefulSet",
                "PersistentVolumeClaim",
            ]
            .iter()
            .any(|kind| it.0.starts_with(kind))
        };
        contents.filter(is_kept).collect()
    };
    let before = kept();
    for command in ["apply -f shoot.yaml", "plan -f shoot.yaml", "status lost"] {
        let output = provider.kvshoot_with(&manifest).run(command);
        assert_ne!(output.code, 0, "{output}");
        let text = format!("{}{}", output.out, output.err);
        if !command.starts_with("status") {
            let why = "the volume of etcd member 0 has no data of this cluster";
            assert!(text.contains(why), "{output}");
        }
    }
    assert_eq!(kept(), before);
    provider.assert_deleted("lost");
}

#[test]
#[ignore = "second tier: minutes of growth, losses and shrinking; the search over decisions is in the first tier"]
fn members_come_and_go_and_are_replaced_without_losing_a_write() {
    let provider = Provider::new();
    let (one, three) = (manifest("members", "none"), manifest("members", "node"));
    provider.assert_applied(&one, "created");
    let kvshoot = provider.kvshoot_with(&one);
    let api = ShootApi::connect(&provider, &kvshoot, "members");
    let grown = write_during(&api, "grow", || {
        provider.assert_applied(&three, "configured");
    });
    provider.assert_unchanged(&three);
    assert!(api.is_created(CONFIG_MAP, "default", "large", Duration::from_secs(10)));
    for number in 0..40 {
        let data = json!({ "data": { "text": format!("{number:05}").repeat(100_000) } });
        assert!(api.is_patched(CONFIG_MAP, ("default", "large"), &data));
    }
    EtcdApi::connect(&provider, &three.id(), 0).compact();
    let defragmented = write_during(&api, "defragment", || {
        let output = kvshoot.run("etcd defrag members");
        assert_eq!(output.code, 0, "{output}");
        println!("{}", output.err);
        for ordinal in 0..3 {
            let title = format!("Defragment member {ordinal} of etcd");
            assert!(output.err.contains(&title), "{output}");
        }
        let output = kvshoot.run("etcd defrag members");
        assert!(output.err.contains("Nothing to free in etcd"), "{output}");
    });
    defragmented.assert_gap(Duration::from_secs(1));
    let mut writers = vec![grown, defragmented];
    // The leader is among them.
    for ordinal in 0..3 {
        writers.push(write_during(&api, &format!("lose-{ordinal}"), || {
            lose_member(&provider, &format!("{}-etcd-{ordinal}", three.id()));
            provider.assert_applied(&three, "configured");
        }));
    }
    for writer in &writers {
        writer.assert_gap(Duration::from_secs(8));
    }
    writers.push(write_during(&api, "shrink", || {
        provider.assert_applied(&one, "configured");
    }));
    provider.assert_unchanged(&one);
    let claims = provider.names(CLAIM).into_iter();
    assert_eq!(claims.filter(|it| it.contains("-etcd-")).count(), 1);
    assert_eq!(lost_or_reordered(&api, &writers), Vec::<&str>::new());
}

#[test]
#[ignore = "second tier: fills a database"]
fn a_full_database_is_emptied_of_old_revisions() {
    let provider = Provider::new();
    // A quota of 230 MiB: the smallest size that is valid.
    let manifest = sized(manifest("full", "none"), "1Gi");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let api = ShootApi::connect(&provider, &kvshoot, "full");
    assert!(api.is_created(CONFIG_MAP, "default", "large", Duration::from_secs(10)));
    let write = |number: usize| {
        let text = format!("{number}").repeat(100_000);
        let text = &text[..100_000];
        let data: std::collections::BTreeMap<String, &str> =
            (0..8).map(|it| (format!("key-{it}"), text)).collect();
        api.is_patched(CONFIG_MAP, ("default", "large"), &json!({ "data": data }))
    };
    let written = (1..600).take_while(|it| write(*it)).count();
    println!("{written} writes of 800 KB until the database was full");
    assert!((100..500).contains(&written), "{written}");
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains("Free space in the database of etcd"),
        "{output}"
    );
    assert!(write(1_000));
    provider.assert_unchanged(&manifest);
}

#[test]
#[ignore = "second tier: three applies; unit tests of volumes have the order of claims, quota and alarm"]
fn the_volume_of_etcd_grows_while_it_is_used() {
    let provider = Provider::new();
    let small = sized(manifest("grows", "none"), "1Gi");
    provider.assert_applied(&small, "created");
    let claim = format!("data-{}-etcd-0", small.id());
    let uid = provider.get(CLAIM, &claim).unwrap().metadata.uid;
    let large = sized(manifest("grows", "none"), "2Gi");
    let kvshoot = provider.kvshoot_with(&large);
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert!(output.err.contains("Expand volume 0 of etcd"), "{output}");
    let grown = provider.get(CLAIM, &claim).unwrap();
    assert_eq!(grown.metadata.uid, uid);
    assert_eq!(grown.data["status"]["capacity"]["storage"], "2Gi");
    let set = provider.get(STATEFUL_SET, &format!("{}-etcd", small.id()));
    let template = &set.unwrap().data["spec"]["template"]["spec"]["containers"][0]["command"];
    // 45 % of what the log leaves.
    let quota = format!("--quota-backend-bytes={}", 691_u64 << 20);
    assert!(template.to_string().contains(&quota), "{template}");
    provider.assert_unchanged(&large);
    let output = provider.kvshoot_with(&small).run("apply -f shoot.yaml");
    assert_eq!(output.code, 3, "{output}");
}
