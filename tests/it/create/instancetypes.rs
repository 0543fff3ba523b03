//! Instancetypes and preferences that kvshoot manages for a shoot.

use crate::support::accounts::{as_account, rules};
use crate::support::provider::{self, INSTANCETYPE, PREFERENCE, Provider, VM, VMI};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn naming(manifest: &Manifest, instancetype: &str) -> Manifest {
    let named = json!({ "name": instancetype });
    let manifest = manifest.clone();
    manifest.pool(|it| it["providerConfig"]["instancetype"] = named)
}

/// Sockets and memory of the machines, as expanded by KubeVirt.
fn sizes(provider: &Provider) -> BTreeSet<String> {
    let machines = provider.list(VMI).into_iter();
    let size = |it: Value| {
        let domain = &it["spec"]["domain"];
        format!("{} {}", domain["cpu"]["sockets"], domain["memory"]["guest"])
    };
    machines.map(|it| size(it.data)).collect()
}

fn type_of(name: &str, cpus: u32, memory: &str) -> Value {
    json!({
        "apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": INSTANCETYPE.2,
        "metadata": { "name": name },
        "spec": { "cpu": { "guest": cpus }, "memory": { "guest": memory } },
    })
}

#[test]
#[ignore = "second tier: five rolling updates; unit tests of plan and render have copies, changes and deletion"]
fn instancetypes_follow_their_templates_and_are_deleted_with_their_last_machine() {
    let (provider, templates) = (Provider::new(), Provider::new());
    let empty = provider.dump();
    let two = Manifest::example("standard-types");
    let own = |name: &str| vec![format!("{}-{name}", two.id())];

    provider.assert_applied(&two, "created");
    assert_eq!(provider.names(INSTANCETYPE), own("standard-2"));
    assert_eq!(provider.names(PREFERENCE), own("sockets-advantage"));
    assert_eq!(sizes(&provider), BTreeSet::from(["2 \"8Gi\"".to_owned()]));
    provider.assert_unchanged(&two);

    let before = provider.uids();
    let four = naming(&two, "standard-4");
    provider.assert_applied(&four, "configured");
    assert!(before.keys().all(|it| !provider.uids().contains_key(it)));
    assert_eq!(provider.names(INSTANCETYPE), own("standard-4"));
    assert_eq!(sizes(&provider), BTreeSet::from(["4 \"16Gi\"".to_owned()]));
    provider.assert_unchanged(&four);

    // A cluster-wide instancetype with the same name exists as well.
    templates.create(INSTANCETYPE, type_of("u1.medium", 3, "3Gi"));
    let copied = naming(&two, "u1.medium").with(|it| {
        let config = &mut it.profile["spec"]["providerConfig"];
        config["templateNamespace"] = json!(templates.namespace);
    });
    provider.assert_applied(&copied, "configured");
    assert_eq!(provider.names(INSTANCETYPE), own("u1.medium"));
    assert_eq!(sizes(&provider), BTreeSet::from(["3 \"3Gi\"".to_owned()]));
    provider.assert_unchanged(&copied);

    let before = provider.uids();
    let edit = json!({ "spec": { "memory": { "guest": "5Gi" } } });
    templates.patch(INSTANCETYPE, "u1.medium", &edit);
    provider.assert_applied(&copied, "configured");
    let copy = provider.get(INSTANCETYPE, &own("u1.medium")[0]).unwrap();
    assert_eq!(copy.data["spec"]["memory"]["guest"], "5Gi");
    assert_eq!(provider.uids(), before);
    provider.assert_unchanged(&copied);

    // A copy does not change when its template is deleted.
    templates.delete(INSTANCETYPE, "u1.medium");
    provider.assert_unchanged(&copied);

    provider.assert_deleted(two.name());
    assert_eq!(provider.dump(), empty);
}

#[test]
fn missing_permissions_for_managed_instancetypes_are_reported_before_anything_is_created() {
    let (provider, templates) = (Provider::new(), Provider::new());
    let all = rules();
    // The Role without permissions to manage instancetypes.
    let mut few = all.clone();
    let types = few
        .iter_mut()
        .filter(|it| it.0 == "instancetype.kubevirt.io");
    types.for_each(|it| it.2 = vec!["get".to_owned()]);
    let two = Manifest::example("standard-types");
    let copied = naming(&two, "u1.medium").with(|it| {
        let config = &mut it.profile["spec"]["providerConfig"];
        config["templateNamespace"] = json!(templates.namespace);
    });
    let few = as_account(&provider, "few", &few).file("types.yaml", &two.text());
    let all = as_account(&provider, "all", &all).file("copied.yaml", &copied.text());

    let output = few.run("apply -f types.yaml");
    assert_eq!(output.code, 8, "{output}");
    for right in [
        "list virtualmachineinstancetypes.instancetype.kubevirt.io",
        "create virtualmachinepreferences.instancetype.kubevirt.io",
    ] {
        assert!(output.err.contains(right), "{output}");
    }
    let output = few.run("plan -f types.yaml");
    assert_eq!(output.code, 4, "{output}");
    assert!(output.out.contains("cannot be created"), "{output}");

    let output = all.run("apply -f copied.yaml");
    assert_eq!(output.code, 8, "{output}");
    // One of the two, in any order.
    let expected = ["instancetypes", "preferences"]
        .map(|kind| format!("not allowed to get virtualmachine{kind}."));
    let is_reported = expected.iter().any(|it| output.err.contains(it));
    assert!(
        is_reported && output.err.contains(&templates.namespace),
        "{output}"
    );
    assert_eq!(provider.names(VM), Vec::<String>::new());
    assert_eq!(provider.names(provider::SECRET), Vec::<String>::new());

    // The first exists in the namespace, the second one is cluster-wide.
    provider.create(INSTANCETYPE, type_of("standard-2", 2, "8Gi"));
    let mut few = few;
    for name in ["standard-2", "u1.medium"] {
        let named = naming(&two, name).pool(|it| {
            let config = it["providerConfig"].as_object_mut().unwrap();
            config.remove("preference");
        });
        few = few.file("existing.yaml", &named.text());
        let output = few.run("plan -f existing.yaml");
        assert_eq!(output.code, 0, "{name}: {output}");
    }

    let mut orphan = type_of("shoot--local--lost-standard-2", 2, "8Gi");
    orphan["metadata"]["labels"] = json!({
        "app.kubernetes.io/managed-by": "kvshoot", "app.kubernetes.io/part-of": "shoot--local--lost",
        "app.kubernetes.io/component": "instancetype", "kvshoot.io/shoot-uid": "of-no-record",
    });
    provider.create(INSTANCETYPE, orphan);
    let output = all.run("gc --orphans");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.names(INSTANCETYPE), ["standard-2"]);
}
