//! Edits that change the number or the metadata of machines, without replacing any.

use crate::support::provider::{self, Provider, Resource};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use crate::support::vm_watcher::{Bounds, Watcher};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NAME: &str = "edits";
const CLAIM: Resource = Resource("", "v1", "PersistentVolumeClaim");

/// One after the other, on one shoot.
#[test]
#[ignore = "second tier: twelve applies; unit tests plan each of these edits"]
fn edits_of_size_and_metadata_keep_the_machines() {
    let provider = Provider::new();
    provider.assert_applied(&Manifest::small(NAME), "created");
    labels_annotations_and_taints_change_in_place(&provider);
    a_size_within_the_bounds_is_kept(&provider);
    refused_edits_change_nothing(&provider);
    scaling_a_pool_is_balanced_over_zones_and_keeps_other_machines(&provider);
}

/// One after the other, on one shoot.
#[test]
#[ignore = "second tier: ten applies; unit tests plan each of these edits"]
fn edits_of_pools_zones_and_the_api_server_keep_the_machines() {
    let provider = Provider::new();
    provider.assert_applied(&Manifest::small(NAME), "created");
    a_pool_is_added_and_removed_with_its_image_and_others_stay(&provider);
    a_setting_of_the_api_server_restarts_it_alone(&provider);
    a_renamed_pool_serves_until_the_new_one_does(&provider);
    an_appended_zone_gets_its_share_of_machines(&provider);
}

/// Claims of users keep their class when its volume type leaves the CloudProfile, until they are gone.
#[test]
#[ignore = "second tier: four applies; the rule is one request, and the planner has a unit test"]
fn a_class_stays_while_volumes_use_it() {
    const CLASS: Resource = Resource("storage.k8s.io", "v1", "StorageClass");
    let provider = Provider::new();
    let plain = Manifest::small(NAME);
    let more = plain.clone().with(|it| {
        let types = it.profile["spec"]["volumeTypes"].as_array_mut().unwrap();
        let class = types[0]["class"].clone();
        types.push(json!({ "name": "used", "class": class }));
        types.push(json!({ "name": "unused", "class": class }));
    });
    provider.assert_applied(&more, "created");
    let shoot = ShootApi::connect(&provider, &provider.kvshoot(), NAME);
    let claim = json!({
        "metadata": { "name": "data" },
        "spec": {
            "storageClassName": "used",
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
        },
    });
    shoot.create(CLAIM, "default", claim);
    let names = || -> Vec<String> {
        let classes = shoot.list(CLASS).into_iter();
        classes.filter_map(|it| it.metadata.name).collect()
    };
    assert!(names().contains(&"unused".to_owned()));
    provider.assert_applied(&plain, "configured");
    assert!(names().contains(&"used".to_owned()), "{:?}", names());
    assert!(!names().contains(&"unused".to_owned()), "{:?}", names());
    provider.assert_unchanged(&plain);
    // The type returns: its class is kvshoot's again.
    provider.assert_applied(&more, "configured");
    let class = shoot.get_global(CLASS, "used");
    let hash = &class["metadata"]["annotations"]["kvshoot.io/spec-hash"];
    assert!(hash.is_string(), "{class}");
}

fn scaling_a_pool_is_balanced_over_zones_and_keeps_other_machines(provider: &Provider) {
    let three = Manifest::named(NAME);
    provider.assert_applied(&three, "configured");
    let first = uids(provider);
    provider.assert_applied(&three.clone().with_size(5), "configured");
    assert_eq!(provider.zones("worker"), [2, 2, 1]);
    assert!(uids(provider).is_superset(&first));
    let before = uids(provider);
    provider.assert_applied(&three, "configured");
    assert_eq!(provider.zones("worker"), [1, 1, 1]);
    assert!(uids(provider).is_subset(&before));
    assert_eq!(provider.user_data().len(), 3);
}

fn a_pool_is_added_and_removed_with_its_image_and_others_stay(provider: &Provider) {
    let one = Manifest::small(NAME);
    let first = uids(provider);
    let images = provider.names(provider::DATA_VOLUME);
    let two = one.clone().with(|it| {
        let workers = it.shoot["spec"]["provider"]["workers"].as_array_mut();
        let workers = workers.unwrap();
        let mut extra = workers[0].clone();
        extra["name"] = json!("extra");
        extra["volume"]["size"] = json!("30Gi");
        workers.push(extra);
    });
    provider.assert_applied(&two, "configured");
    assert_eq!(provider.zones("extra"), [1]);
    assert!(uids(provider).is_superset(&first));
    provider.assert_unchanged(&two);
    provider.assert_applied(&one, "configured");
    assert_eq!(uids(provider), first);
    assert_eq!(provider.names(provider::DATA_VOLUME), images);
    assert_eq!(provider.user_data().len(), 1);
}

fn an_appended_zone_gets_its_share_of_machines(provider: &Provider) {
    let zones = |zones: Value| {
        let all = Manifest::named(NAME).with_size(4);
        all.pool(|it| it["zones"] = zones)
    };
    provider.assert_applied(&zones(json!(["zone-a", "zone-b"])), "configured");
    assert_eq!(provider.zones("worker"), [2, 2]);
    let before = uids(provider);
    let three = zones(json!(["zone-a", "zone-b", "zone-c"]));
    provider.assert_applied(&three, "configured");
    assert_eq!(provider.zones("worker"), [2, 1, 1]);
    assert_eq!(uids(provider).intersection(&before).count(), 3);
    provider.assert_unchanged(&three);
    let moved = provider.apply(&zones(json!(["zone-b", "zone-a", "zone-c"])));
    assert_eq!(moved.code, 3, "{moved}");
}

fn labels_annotations_and_taints_change_in_place(provider: &Provider) {
    let plain = Manifest::small(NAME);
    let given = plain.clone().pool(|it| {
        it["labels"] = json!({"example.com/keep": "1", "example.com/go": "1"});
        it["annotations"] = json!({"example.com/keep": "a", "example.com/go": "a"});
        it["taints"] =
            json!([{"key": "example.com/t", "value": "1", "effect": "PreferNoSchedule"}]);
    });
    provider.assert_applied(&given, "configured");
    let (uid, name) = provider.uids().pop_first().unwrap();
    let others =
        json!({"metadata": {"labels": {"other.org/l": "x"}, "annotations": {"other.org/a": "x"}}});
    provider.patch(provider::VM, &name, &others);
    provider.assert_unchanged(&given);

    let changed = plain.clone().pool(|it| {
        it["labels"] = json!({"example.com/keep": "2", "example.com/new": "2"});
        it["annotations"] = json!({"example.com/keep": "b", "example.com/new": "b"});
        it["taints"] =
            json!([{"key": "example.com/t", "value": "2", "effect": "PreferNoSchedule"}]);
    });
    provider.assert_applied(&changed, "configured");
    provider.assert_unchanged(&changed);
    let machine = provider.get(provider::VM, &name).unwrap().metadata;
    assert_eq!(machine.uid.unwrap(), uid);
    let kept = |map: Option<std::collections::BTreeMap<String, String>>| {
        let map = map.unwrap_or_default().into_iter();
        let map = map.filter(|it| it.0.starts_with("example.com/") || it.0.starts_with("other."));
        map.map(|it| format!("{}={}", it.0, it.1))
            .collect::<Vec<_>>()
    };
    let labels = ["example.com/keep=2", "example.com/new=2", "other.org/l=x"];
    assert_eq!(kept(machine.labels), labels);
    let annotations = ["example.com/keep=b", "example.com/new=b", "other.org/a=x"];
    assert_eq!(kept(machine.annotations), annotations);

    provider.assert_applied(&plain, "configured");
    let machine = provider.get(provider::VM, &name).unwrap().metadata;
    assert_eq!(kept(machine.labels), ["other.org/l=x"]);
    assert_eq!(machine.uid.unwrap(), uid);
}

fn a_size_within_the_bounds_is_kept(provider: &Provider) {
    let bounds = |minimum: u32, maximum: u32| {
        Manifest::small(NAME).pool(|it| {
            it["minimum"] = minimum.into();
            it["maximum"] = maximum.into();
        })
    };
    for (minimum, maximum, size) in [(3, 6, 3), (4, 6, 4), (1, 6, 4), (1, 2, 2), (1, 6, 2)] {
        provider.assert_applied(&bounds(minimum, maximum), "configured");
        assert_eq!(provider.uids().len(), size, "{minimum} to {maximum}");
    }
}

/// The classes of docs/edits.md that are refused.
fn refused_edits_change_nothing(provider: &Provider) {
    let config = |field: &str, value: Value| {
        Manifest::small(NAME).with(|it| {
            let config = &mut it.shoot["spec"]["provider"]["controlPlaneConfig"];
            config["apiVersion"] = json!("kubevirt.provider.extensions.gardener.cloud/v1alpha1");
            config["kind"] = json!("ControlPlaneConfig");
            config[field] = value;
        })
    };
    let before = provider.settled_contents();
    let output = provider.apply(&config("etcd", json!({"size": "5Gi"})));
    assert_eq!(output.code, 3, "{output}");
    let reason = "the volumes of etcd grow, and are not replaced";
    assert!(output.err.contains(reason), "{output}");
    assert_eq!(provider.settled_contents(), before);
}

fn a_setting_of_the_api_server_restarts_it_alone(provider: &Provider) {
    let machines = uids(provider);
    let names = || {
        let pods = provider.names(provider::POD).into_iter();
        pods.filter(|it| !it.contains("virt-launcher"))
            .collect::<BTreeSet<_>>()
    };
    let before = names();
    let edited = Manifest::small(NAME).with(|it| {
        it.shoot["spec"]["kubernetes"]["kubeAPIServer"] = json!({"eventTTL": "2h"});
    });
    provider.assert_applied(&edited, "configured");
    let restarted = || {
        provider.wait_for("the old pod to be deleted", |_| {
            names().len() == before.len()
        });
    };
    restarted();
    let after = names();
    let replaced: Vec<&String> = before.difference(&after).collect();
    assert!(
        matches!(&replaced[..], [one] if one.contains("-kube-apiserver-")),
        "{replaced:?}"
    );
    assert_eq!(uids(provider), machines);
    provider.assert_applied(&Manifest::small(NAME), "configured");
    restarted();
}

/// The machine of the old pool is marked for removal after the new machine has become ready.
fn a_renamed_pool_serves_until_the_new_one_does(provider: &Provider) {
    let renamed = Manifest::small(NAME).pool(|it| it["name"] = json!("renamed"));
    let plan = provider.kvshoot_with(&renamed).run("plan -f shoot.yaml");
    assert!(plan.out.contains("(once new machines are ready)"), "{plan}");
    let watcher = Watcher::start(provider, "");
    provider.assert_applied(&renamed, "configured");
    watcher.assert_within(
        "rename",
        Bounds {
            max_total: 2,
            min_ready: 1,
        },
    );
    assert_eq!(provider.zones("renamed"), [1]);
    assert_eq!(uids(provider).len(), 1);
    provider.assert_applied(&Manifest::small(NAME), "configured");
}

fn uids(provider: &Provider) -> BTreeSet<String> {
    provider.uids().into_keys().collect()
}
