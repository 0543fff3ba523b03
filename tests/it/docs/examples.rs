//! The lifecycle of every example: apply, apply again, edit, and delete without remaining objects.

use crate::support::provider::{self, Provider, Resource};
use crate::support::shoots::{EXAMPLES, Manifest};
use kube::api::PostParams;
use serde_json::{Value, json};

/// An edit, and the number of machines of each pool after it.
type Edit<'a> = (fn(Manifest) -> Manifest, &'a [usize]);

/// Runs the lifecycle of an example, with the expected number of machines in each pool.
fn test_lifecycle(name: &str, sizes: &[usize]) {
    test_lifecycle_in(&Provider::new(), name, sizes, None);
}

/// Like [`test_lifecycle`], with an edit.
fn test_lifecycle_in(provider: &Provider, name: &str, sizes: &[usize], edit: Option<Edit>) {
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

/// Numbers of machines, sorted by the names of their pools.
fn pools(provider: &Provider) -> Vec<usize> {
    let mut pools = std::collections::BTreeMap::new();
    for ((pool, _), machines) in provider.machines() {
        *pools.entry(pool).or_default() += machines;
    }
    pools.into_values().collect()
}

/// With the schemas and webhooks of KubeVirt and CDI, and without machines.
#[test]
fn an_api_server_accepts_the_objects_of_every_example() {
    let provider = Provider::new();
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut machines = 0;
    for name in EXAMPLES {
        let kvshoot = provider.kvshoot_with(&Manifest::example(name));
        let output = kvshoot.run("render -f shoot.yaml -o json --show-secrets");
        assert_eq!(output.code, 0, "{name}: {output}");
        let list: Value = serde_json::from_str(&output.out).unwrap();
        for object in list["items"].as_array().unwrap() {
            let Some(resource) = resource(object) else {
                continue;
            };
            machines += usize::from(resource.2 == provider::VM.2);
            let sent = serde_json::from_value(object.clone()).unwrap();
            let api = provider.api(resource);
            let answer = provider.block_on(api.create(&dry_run, &sent));
            assert!(answer.is_ok(), "{name}: {answer:?}\n{object:#}");
        }
    }
    assert!(machines > EXAMPLES.len(), "{machines}");
}

/// Returns the resource of a rendered object of the provider cluster that a webhook or a schema checks.
fn resource(object: &Value) -> Option<Resource> {
    const CHECKED: [Resource; 7] = [
        provider::VM,
        provider::DATA_VOLUME,
        provider::NETWORK,
        provider::NETWORK_POLICY,
        provider::DEPLOYMENT,
        provider::STATEFUL_SET,
        provider::SERVICE,
    ];
    let is_own = object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "kvshoot";
    let mut checked = CHECKED.into_iter();
    checked.find(|it| is_own && object["kind"] == it.2)
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
fn minimal() {
    test_lifecycle("minimal", &[1]);
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
fn three_zones() {
    test_lifecycle("three-zones", &[3]);
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
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
    test_lifecycle_in(&provider, "networks", &[2], Some((edit, &[2])));
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
fn volumes_and_devices() {
    let edit = |it: Manifest| it.pool(|it| it["dataVolumes"][1]["size"] = json!("20Gi"));
    let provider = Provider::new();
    test_lifecycle_in(&provider, "volumes-and-devices", &[2], Some((edit, &[2])));
}

/// Templates, presets, instancetypes, and storage that CDI completes; validated by the real virt-api.
#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
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
    test_lifecycle_in(&provider, "machine-templates", sizes, Some((edit, sizes)));
}

/// An edit, and the expected error.
type Case<'a> = (fn(Manifest) -> Manifest, &'a str);

#[test]
fn missing_prerequisites_are_reported_before_anything_is_created() {
    let provider = Provider::new();
    let empty = provider.dump();
    let templates = Manifest::example("machine-templates");
    let cases: [Case; 4] = [
        (
            |manifest| {
                manifest.with(|edited| {
                    worker(edited, 1)["providerConfig"]["instancetype"]["name"] = json!("none")
                })
            },
            "instancetype none not found in the provider cluster",
        ),
        (
            |manifest| {
                manifest.with(|edited| worker(edited, 1)["providerConfig"]["template"]["primaryDisk"] = json!({
                "osImage": "none", "size": "20Gi", "storageClassName": "standard", "storageAccessType": "ReadWriteMany",
            }))
            },
            "/none not found in the provider cluster",
        ),
        (
            |manifest| {
                manifest.with(|edited| {
                    let provider = &mut edited.shoot["spec"]["provider"];
                    provider["controlPlaneConfig"] = json!({
                        "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
                        "kind": "ControlPlaneConfig",
                        "priorityClassName": "none",
                    });
                })
            },
            "PriorityClass none not found in the provider cluster",
        ),
        (
            |it| it.with_size(20),
            "each machine of pool apart needs a separate host: zone zone-a has 4, but up to 11 are needed",
        ),
    ];
    for (edit, message) in cases {
        let kvshoot = provider.kvshoot_with(&edit(templates.clone()));
        let output = kvshoot.run("apply -f shoot.yaml");
        assert_eq!(output.code, 4, "{output}");
        assert!(output.err.contains(message), "{message}: {output}");
        assert_eq!(provider.dump(), empty);
    }
}

fn worker(manifest: &mut Manifest, index: usize) -> &mut serde_json::Value {
    &mut manifest.shoot["spec"]["provider"]["workers"][index]
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
fn cpu_and_memory() {
    test_lifecycle("cpu-memory", &[1, 1]);
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
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
    test_lifecycle_in(&provider, "two-pools", &[2, 2], Some((edit, &[3, 2])));
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
fn default_region() {
    test_lifecycle("default-region", &[2]);
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
fn autoscaling() {
    test_lifecycle("autoscaling", &[2]);
}

#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
fn import_per_machine() {
    let edit = |it: Manifest| {
        it.pool(|it| it["providerConfig"]["disablePreAllocatedDataVolumes"] = json!(false))
    };
    let provider = Provider::new();
    test_lifecycle_in(&provider, "import-per-machine", &[2], Some((edit, &[2])));
}

/// After the edit, memory and CPUs are read from a ConfigMap and a Secret. They differ from the preset, so the pool is
/// rolled.
#[test]
#[ignore = "second tier: the first tier applies other examples, and sends all of them to the API server"]
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
    test_lifecycle_in(&provider, "machine-deployment", &[2], Some((edit, &[3])));
}
