//! Every example from its beginning to its end: apply, again, for some an edit, delete, and nothing is left.

use crate::support::provider::{self, Provider};
use crate::support::shoots::Manifest;
use serde_json::json;

/// What is changed, and the machines of each pool after it.
type Edit<'a> = (fn(Manifest) -> Manifest, &'a [usize]);

/// Lives through an example, with so many machines in each pool.
fn live(name: &str, sizes: &[usize]) {
    live_in(&Provider::new(), name, sizes, None);
}

/// As [`live`], with an edit and what there is after it.
fn live_in(provider: &Provider, name: &str, sizes: &[usize], edit: Option<Edit>) {
    let empty = provider.dump();
    let mut manifest = Manifest::example(name);
    provider.assert_applied(&manifest, "created");
    assert_eq!(pools(provider), sizes);
    provider.assert_unchanged(&manifest);
    if let Some((edit, sizes)) = edit {
        manifest = edit(manifest);
        provider.assert_applied(&manifest, "configured");
        assert_eq!(pools(provider), sizes);
        provider.assert_unchanged(&manifest);
    }
    provider.assert_deleted(manifest.name());
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
    live("minimal", &[1]);
}

#[test]
fn three_zones() {
    live("three-zones", &[3]);
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
    live_in(&provider, "networks", &[2], Some((edit, &[2])));
}

#[test]
fn volumes_and_devices() {
    let edit = |it: Manifest| it.pool(|it| it["dataVolumes"][1]["size"] = json!("20Gi"));
    let provider = Provider::new();
    live_in(&provider, "volumes-and-devices", &[2], Some((edit, &[2])));
}

/// Templates, presets, instancetypes and claims that CDI completes; the real virt-api accepts each of them.
#[test]
fn machine_templates() {
    let edit = |it: Manifest| {
        it.pool(|it| {
            it["providerConfig"]["affinity"]["podAntiAffinityPreset"] = json!("soft");
            it["maxUnavailable"] = json!(1);
        })
        .with(|it| {
            let config = &mut it.shoot["spec"]["provider"]["infrastructureConfig"];
            config["preAllocatedDataVolumes"][0]["size"] = json!("16Gi");
        })
    };
    let provider = Provider::new();
    let sizes = &[2, 1, 1];
    live_in(&provider, "machine-templates", sizes, Some((edit, sizes)));
}

/// An edit, and what is told of it.
type Case<'a> = (fn(Manifest) -> Manifest, &'a str);

#[test]
fn what_a_pool_names_and_the_provider_has_not_is_told_before_anything_is_made() {
    let provider = Provider::new();
    let empty = provider.dump();
    let templates = Manifest::example("machine-templates");
    let cases: [Case; 3] = [
        (
            |it| {
                it.with(|it| {
                    worker(it, 1)["providerConfig"]["instancetype"]["name"] = json!("none")
                })
            },
            "there is no instancetype none in the provider cluster",
        ),
        (
            |it| {
                it.with(|it| worker(it, 1)["providerConfig"]["template"]["primaryDisk"] = json!({
                "osImage": "none", "size": "20Gi", "storageClassName": "standard", "storageAccessType": "ReadWriteMany",
            }))
            },
            "there is no volume it-",
        ),
        (
            |it| it.with_size(20),
            "each machine of pool apart needs a host of its own: zone zone-a has 4, and 11 may be needed",
        ),
    ];
    for (edit, told) in cases {
        let kvshoot = provider.kvshoot_with(&edit(templates.clone()));
        let output = kvshoot.run("apply -f shoot.yaml");
        assert_eq!(output.code, 4, "{output}");
        assert!(output.err.contains(told), "{told}: {output}");
        assert_eq!(provider.dump(), empty);
    }
}

fn worker(manifest: &mut Manifest, index: usize) -> &mut serde_json::Value {
    &mut manifest.shoot["spec"]["provider"]["workers"][index]
}

#[test]
fn cpu_and_memory() {
    live("cpu-memory", &[1, 1]);
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
    let provider = Provider::new();
    live_in(&provider, "two-pools", &[2, 2], Some((edit, &[3, 2])));
}

#[test]
fn default_region() {
    live("default-region", &[2]);
}

#[test]
fn autoscaling() {
    live("autoscaling", &[2]);
}

#[test]
fn import_per_machine() {
    let edit = |it: Manifest| {
        it.pool(|it| it["providerConfig"]["disablePreAllocatedDataVolumes"] = json!(false))
    };
    let provider = Provider::new();
    live_in(&provider, "import-per-machine", &[2], Some((edit, &[2])));
}

/// After the edit the memory stands in a ConfigMap and the CPUs in a Secret, and neither is what the preset says: the pool
/// rolls.
#[test]
fn machine_deployment() {
    let provider = Provider::new();
    provider.create(
        provider::CONFIG_MAP,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "sizes"}, "data": {"memory": "2048M"},
        }),
    );
    provider.create(
        provider::SECRET,
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "sizes"}, "stringData": {"cpus": "1"},
        }),
    );
    let edit = |it: Manifest| {
        it.with(|it| {
            let spec = &mut it.rest[0]["spec"];
            spec["replicas"] = json!(3);
            let value = &mut spec["template"]["spec"]["providerSpec"]["value"];
            let template = &mut value["cloudProviderSpec"]["virtualMachine"]["template"];
            let reference = json!({"namespace": "kube-system", "name": "sizes", "key": "memory"});
            template["memory"] = json!({ "configMapKeyRef": reference });
            let reference = json!({"namespace": "kube-system", "name": "sizes", "key": "cpus"});
            template["cpus"] = json!({ "secretKeyRef": reference });
        })
    };
    live_in(&provider, "machine-deployment", &[2], Some((edit, &[3])));
}
