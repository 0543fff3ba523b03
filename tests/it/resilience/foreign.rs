//! Objects of others are not changed, and the objects of a shoot are restored.

use crate::support::provider::{self, Provider, Resource};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};

const NETWORK: &str = r#"{"cniVersion": "0.3.1", "type": "bridge", "bridge": "storage0"}"#;

/// One machine with a tenant network.
fn networked(name: &str) -> Manifest {
    Manifest::small(name).with(|it| {
        it.shoot["spec"]["provider"]["infrastructureConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureConfig",
            "networks": {"tenantNetworks": [{"name": "storage", "config": NETWORK}]},
        });
    })
}

fn object(Resource(group, version, kind): Resource, name: &str, content: Value) -> Value {
    let version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": {"app": "other"}}});
    for (key, value) in content.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

/// Returns an object of each kind without the labels of kvshoot.
fn others(name: impl Fn(Resource) -> String) -> Vec<(Resource, Value)> {
    let volume = json!({"spec": {
        "source": {"blank": {}},
        "pvc": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "standard"},
    }});
    let machine = json!({"spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {
        "devices": {}, "resources": {"requests": {"memory": "64Mi"}},
    }}}}});
    [
        (provider::CONFIG_MAP, json!({"data": {"a": "b"}})),
        (provider::SECRET, json!({"stringData": {"a": "b"}})),
        (provider::NETWORK, json!({"spec": {"config": NETWORK}})),
        (provider::DATA_VOLUME, volume),
        (provider::VM, machine),
    ]
    .into_iter()
    .map(|(kind, content)| (kind, object(kind, &name(kind), content)))
    .collect()
}

#[test]
fn missing_objects_are_created_again_and_objects_of_others_do_not_change() {
    let provider = Provider::new();
    let shoot = networked("near").with_size(2);
    provider.assert_applied(&shoot, "created");
    only_a_deleted_machine_or_secret_is_created_again(&provider, &shoot);
    objects_of_others_in_the_namespace_do_not_change(&provider, &shoot);
}

/// One after the other, on one shoot with two machines and a tenant network.
#[test]
#[ignore = "second tier: 20 applies; the first tier has a deleted machine and a deleted Secret, unit tests have the rest"]
fn a_shoot_is_restored_after_deletions_and_changes_by_others() {
    let provider = Provider::new();
    let empty = provider.dump();
    let shoot = networked("near").with_size(2);
    provider.assert_applied(&shoot, "created");
    a_deleted_control_plane_is_created_again_with_the_same_address(&provider, &shoot);
    a_deleted_ca_is_not_replaced_and_can_be_restored(&provider, &shoot);
    let shoot = shoot.with_size(1);
    provider.assert_applied(&shoot, "configured");
    a_new_machine_does_not_use_the_disk_of_a_deleted_one(&provider, &shoot);
    changes_by_others_are_reverted(&provider, &shoot);
    provider.delete(provider::CONFIG_MAP, &shoot.id());
    provider.wait_for("all objects of the shoot to be deleted", |it| {
        it.dump().keys().eq(empty.keys())
    });
}

/// Objects without labels of kvshoot, and those of another shoot in the same namespace.
fn objects_of_others_in_the_namespace_do_not_change(provider: &Provider, neighbour: &Manifest) {
    for (kind, object) in others(|_| "other".to_owned()) {
        provider.create(kind, object);
    }
    // A similar name, and only one of the labels.
    let mut near = object(
        provider::SECRET,
        "shoot--local--near-too-worker-z1-00000-9",
        json!({}),
    );
    near["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "shoot--local--near-too"});
    provider.create(provider::SECRET, near);
    provider.settled_contents();
    let before = provider.dump();
    let shoot = networked("near-too");
    provider.assert_applied(&shoot, "created");
    let roll = shoot.pool(|it| it["machine"]["type"] = json!("medium"));
    provider.assert_applied(&roll, "configured");
    provider.assert_deleted("near-too");
    assert_eq!(provider.dump(), before);
    provider.assert_unchanged(neighbour);
}

/// Returns a function from kinds to the name of an object of the shoot.
fn names(manifest: &Manifest) -> impl Fn(Resource) -> String {
    let rendered = crate::support::kvshoot::Kvshoot::new().file("shoot.yaml", &manifest.text());
    let rendered = rendered.run("render -f shoot.yaml -o json").out;
    let list: Value = serde_json::from_str(&rendered).unwrap();
    move |kind| {
        let objects = list["items"].as_array().unwrap();
        let object = objects.iter().find(|it| it["kind"] == kind.2).unwrap();
        object["metadata"]["name"].as_str().unwrap().to_owned()
    }
}

#[test]
fn an_existing_object_of_others_is_reported_and_not_overwritten() {
    assert_not_overwritten(&[provider::CONFIG_MAP, provider::VM]);
}

#[test]
#[ignore = "second tier: a control plane for each kind; the first tier has the record and a machine"]
fn existing_objects_of_each_kind_are_reported_and_not_overwritten() {
    assert_not_overwritten(&[provider::SECRET, provider::NETWORK, provider::DATA_VOLUME]);
}

fn assert_not_overwritten(kinds: &[Resource]) {
    let provider = Provider::new();
    let shoot = networked("taken");
    let others = others(names(&shoot)).into_iter();
    for (kind, object) in others.filter(|it| kinds.iter().any(|kind| kind.2 == it.0.2)) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        provider.create(kind, object);
        provider.settled_contents();
        let before = provider.dump();
        let output = provider.apply(&shoot);
        let wanted: &[i32] = if kind.2 == "ConfigMap" { &[4] } else { &[4, 5] };
        assert!(wanted.contains(&output.code), "{}: {output}", kind.2);
        let object = format!("{} {name}", kind.2);
        assert!(output.err.contains(&object), "{object}: {output}");
        assert_eq!(output.out, "");
        let after = provider.dump();
        let key = format!("{} {name}", kind.2);
        assert_eq!(after[&key], before[&key]);
        if output.code == 4 {
            let lease = format!("Lease {}", shoot.id());
            let same = after.iter().filter(|it| *it.0 != lease);
            assert!(
                same.eq(before.iter().filter(|it| *it.0 != lease)),
                "{output}"
            );
        }
        provider.delete(kind, &name);
        provider.wait_for("the object to be deleted", |it| {
            it.get(kind, &name).is_none()
        });
        provider.wait_for("its PersistentVolumeClaim to be deleted", |it| {
            it.get(provider::CLAIM, &name).is_none()
        });
        let _ = provider
            .kvshoot()
            .run("delete taken --yes --ignore-not-found");
    }
}

fn only_a_deleted_machine_or_secret_is_created_again(provider: &Provider, shoot: &Manifest) {
    let names = provider.names(provider::VM);
    let before = provider.settled_contents();

    provider.delete(provider::SECRET, &names[0]);
    provider.assert_applied(shoot, "configured");
    assert!(provider.get(provider::SECRET, &names[0]).is_some());
    let changed = changed(&before, &provider.settled_contents());
    let record = format!("ConfigMap {}", shoot.id());
    assert_eq!(changed, [record.clone(), format!("Secret {}", names[0])]);

    let before = provider.settled_contents();
    provider.delete(provider::VM, &names[1]);
    provider.wait_for("the object to be deleted", |it| {
        it.get(provider::VM, &names[1]).is_none()
    });
    provider.assert_applied(shoot, "configured");
    assert_eq!(provider.names(provider::VM).len(), 2);
    let after = provider.settled_contents();
    for kind in ["VirtualMachine", "Secret"] {
        let others = names.iter().filter(|it| **it != names[1]);
        for name in others.map(|it| format!("{kind} {it}")) {
            assert_eq!(after.get(&name), before.get(&name), "{name}");
        }
    }
    provider.assert_unchanged(shoot);
}

/// CDI deletes disks late: a machine of the same name would start from the old disk, and lose it.
fn a_new_machine_does_not_use_the_disk_of_a_deleted_one(provider: &Provider, shoot: &Manifest) {
    let names = provider.names(provider::VM);
    let set_finalizers = |finalizers: &[&str]| {
        let patch = serde_json::json!({ "metadata": { "finalizers": finalizers } });
        provider.patch(provider::DATA_VOLUME, &names[0], &patch);
    };
    set_finalizers(&["kvshoot.io/test"]);
    provider.delete(provider::VM, &names[0]);
    provider.wait_for("the object to be deleted", |it| {
        it.get(provider::VM, &names[0]).is_none()
    });
    provider.assert_applied(shoot, "configured");
    let machines = provider.names(provider::VM);
    assert_eq!(machines.len(), 1);
    assert_ne!(machines, names);
    set_finalizers(&[]);
    provider.wait_for("the disk to be deleted", |it| {
        it.get(provider::DATA_VOLUME, &names[0]).is_none()
    });
    provider.assert_unchanged(shoot);
}

/// Nodes keep the address of the API server in their configuration.
fn a_deleted_control_plane_is_created_again_with_the_same_address(
    provider: &Provider,
    shoot: &Manifest,
) {
    let machines = provider.uids();
    let name = |part: &str| format!("{}-{part}", shoot.id());
    let address = |name: &str| {
        let service = provider.get(provider::SERVICE, name).unwrap();
        service.data["spec"]["clusterIP"].clone()
    };
    let before = address(&name("kube-apiserver"));
    provider.delete(provider::SERVICE, &name("kube-apiserver"));
    provider.delete(provider::DEPLOYMENT, &name("kube-apiserver"));
    provider.delete(provider::SECRET, &name("kube-apiserver"));
    provider.assert_applied(shoot, "configured");
    assert_eq!(address(&name("kube-apiserver")), before);
    assert_eq!(provider.uids(), machines);
    provider.assert_unchanged(shoot);
}

/// All nodes trust only the old one.
fn a_deleted_ca_is_not_replaced_and_can_be_restored(provider: &Provider, shoot: &Manifest) {
    let name = format!("{}-ca", shoot.id());
    let mut backup = provider.get(provider::SECRET, &name).unwrap();
    provider.delete(provider::SECRET, &name);
    let before = provider.settled_contents();
    let output = provider.apply(shoot);
    assert_eq!(output.code, 4, "{output}");
    let expected = format!("Secret {name} was deleted, and the cluster depends on its keys");
    assert!(output.err.contains(&expected), "{output}");
    assert_eq!(provider.settled_contents(), before);
    backup.metadata.resource_version = None;
    backup.metadata.uid = None;
    provider.create(provider::SECRET, serde_json::to_value(&backup).unwrap());
    provider.assert_unchanged(shoot);
}

/// Returns the objects with a changed resource version.
fn changed(
    before: &std::collections::BTreeMap<String, String>,
    after: &std::collections::BTreeMap<String, String>,
) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let all = all
        .into_iter()
        .filter(|it| before.get(*it) != after.get(*it));
    all.cloned().collect()
}

fn changes_by_others_are_reverted(provider: &Provider, shoot: &Manifest) {
    let network = provider.names(provider::NETWORK).remove(0);
    let machine = provider.names(provider::VM).remove(0);
    let uids = provider.uids();
    let no_hash = json!({"metadata": {"annotations": {"kvshoot.io/spec-hash": null}}});
    provider.patch(provider::NETWORK, &network, &no_hash);
    provider.assert_applied(shoot, "configured");
    assert_eq!(provider.uids(), uids);
    provider.assert_unchanged(shoot);

    let no_label = json!({"metadata": {"annotations": {"kvshoot.io/pool-metadata": "{}"}}});
    provider.patch(provider::VM, &machine, &no_label);
    provider.assert_applied(shoot, "configured");
    assert_eq!(provider.uids(), uids);
    provider.assert_unchanged(shoot);

    let record = json!({"metadata": {"annotations": {"kvshoot.io/spec-hash": "0"}}, "data": {"shoot.yaml": "nothing"}});
    provider.patch(provider::CONFIG_MAP, &shoot.id(), &record);
    let output = provider.apply(shoot);
    assert_eq!(output.code, 0, "{output}");
    let warning = format!("cannot read the record {}", shoot.id());
    assert!(output.err.contains(&warning), "{output}");
    assert_eq!(provider.uids(), uids);
    provider.assert_unchanged(shoot);

    let mut images = provider.names(provider::DATA_VOLUME).into_iter();
    let image = images.find(|it| it.contains("-ubuntu-")).unwrap();
    provider.patch(provider::DATA_VOLUME, &image, &no_hash);
    provider.assert_applied(shoot, "configured");
    assert_eq!(provider.uids(), uids);
    provider.assert_unchanged(shoot);

    a_machine_without_its_hash_is_replaced_and_one_without_labels_is_kept(provider, shoot);
}

/// The configuration of a machine without a hash is unknown, so it is replaced. Pool and zone follow from its name.
fn a_machine_without_its_hash_is_replaced_and_one_without_labels_is_kept(
    provider: &Provider,
    shoot: &Manifest,
) {
    for (is_replaced, marks) in [
        (true, json!({"annotations": {"kvshoot.io/spec-hash": null}})),
        (
            true,
            json!({"annotations": {"kvshoot.io/spec-hash": "fedcba0987654321"}}),
        ),
        (false, json!({"labels": {"kvshoot.io/pool": null}})),
        (false, json!({"labels": {"kvshoot.io/zone-index": "7"}})),
    ] {
        let uids = provider.uids();
        let machine = provider.names(provider::VM).remove(0);
        provider.patch(provider::VM, &machine, &json!({ "metadata": marks }));
        let output = provider
            .kvshoot_with(shoot)
            .run("apply -f shoot.yaml --timeout 4m");
        assert_eq!(output.code, 0, "{marks}: {output}");
        let now = provider.uids();
        assert_eq!(now.len(), 1, "{marks}");
        assert_eq!(now != uids, is_replaced, "{marks}");
        provider.assert_unchanged(shoot);
    }
}
