//! Every example from its beginning to its end: apply, again, an edit, again, delete, and nothing is left.

use crate::life::Manifest;
use crate::provider::{self, Provider};
use serde_json::json;

/// Lives through an example and its edit; `sizes` are the machines of each pool before and after.
fn live(name: &str, edit: impl FnOnce(Manifest) -> Manifest, sizes: [&[usize]; 2]) {
    let provider = Provider::new();
    live_in(&provider, name, edit, sizes);
}

fn live_in(
    provider: &Provider,
    name: &str,
    edit: impl FnOnce(Manifest) -> Manifest,
    sizes: [&[usize]; 2],
) {
    let empty = provider.dump();
    let example = Manifest::example(name);
    provider.applied(&example, "created");
    assert_eq!(pools(provider), sizes[0]);
    provider.unchanged(&example);
    let edited = edit(example);
    provider.applied(&edited, "configured");
    assert_eq!(pools(provider), sizes[1]);
    provider.unchanged(&edited);
    provider.deleted(edited.name());
    assert_eq!(provider.dump(), empty);
}

/// Machines of each pool, by its name.
fn pools(provider: &Provider) -> Vec<usize> {
    let mut pools = std::collections::BTreeMap::new();
    for ((pool, _), machines) in provider.machines() {
        *pools.entry(pool).or_default() += machines;
    }
    pools.into_values().collect()
}

#[test]
fn minimal() {
    live("minimal", |it| it.sized(2), [&[1], &[2]]);
}

#[test]
fn three_zones() {
    let edit = |it: Manifest| it.pool(|it| it["machine"]["image"]["version"] = json!("22.04"));
    live("three-zones", edit, [&[3], &[3]]);
}

#[test]
fn networks() {
    let provider = Provider::new();
    let config = r#"{"cniVersion": "0.3.1", "type": "bridge", "bridge": "storage0"}"#;
    provider.create(
        provider::NETWORK,
        json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": "storage"}, "spec": {"config": config},
        }),
    );
    let edit = |it: Manifest| {
        it.with(|it| {
            let config = &mut it.shoot["spec"]["provider"]["infrastructureConfig"];
            let tenants = config["networks"]["tenantNetworks"].as_array_mut();
            tenants.unwrap().pop();
        })
    };
    live_in(&provider, "networks", edit, [&[2], &[2]]);
}

#[test]
fn volumes_and_devices() {
    let edit = |it: Manifest| it.pool(|it| it["dataVolumes"][1]["size"] = json!("20Gi"));
    live("volumes-and-devices", edit, [&[2], &[2]]);
}

#[test]
fn cpu_and_memory() {
    let edit = |it: Manifest| it.pool(|it| it["providerConfig"]["cpu"]["sockets"] = json!(2));
    live("cpu-memory", edit, [&[1, 1], &[1, 1]]);
}

#[test]
fn two_pools() {
    let edit = |it: Manifest| {
        it.with(|it| {
            let workers = &mut it.shoot["spec"]["provider"]["workers"];
            workers[0]["labels"] = json!({"example.com/tier": "plain"});
            workers[1]["taints"] = json!([]);
            workers[1]["maximum"] = json!(3);
            workers[1]["minimum"] = json!(3);
        })
    };
    live("two-pools", edit, [&[2, 2], &[3, 2]]);
}

#[test]
fn default_region() {
    live("default-region", |it| it.sized(1), [&[2], &[1]]);
}

#[test]
fn autoscaling() {
    let edit = |it: Manifest| it.pool(|it| it["minimum"] = json!(3));
    live("autoscaling", edit, [&[2], &[3]]);
}

#[test]
fn import_per_machine() {
    let edit = |it: Manifest| {
        it.pool(|it| it["providerConfig"]["disablePreAllocatedDataVolumes"] = json!(false))
    };
    live("import-per-machine", edit, [&[2], &[2]]);
}
